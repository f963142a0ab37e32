"""What the exit codes mean."""

OK, PROOF_FAILED, WRONG_USE, BAD_DATA, BAD_MODEL, NOT_INSTALLED = 0, 1, 2, 3, 4, 5
NOT_WRITTEN, UNEXPECTED = 6, 70
INTERRUPTED, PIPE_CLOSED = 130, 141

MEANINGS = {
    OK: "everything asked for was done",
    PROOF_FAILED: "a proof failed: a certificate does not hold, or the gap was not reached",
    WRONG_USE: "wrong use: an option or a name that does not exist or does not fit",
    BAD_DATA: "the data cannot be read or used",
    BAD_MODEL: "the model file cannot be read, or does not fit",
    NOT_INSTALLED: "an optional package is missing",
    NOT_WRITTEN: "the result cannot be written, as when the disk is full",
    UNEXPECTED: "an error nobody foresaw; --debug shows where",
    INTERRUPTED: "interrupted; what was done so far was kept where that makes sense",
    PIPE_CLOSED: "whoever read the output went away",
}
