"""The words of a report in English."""

from __future__ import annotations

ENGLISH: dict[str, str] = {
    "title": "Report on a model of {source}",
    "summary": "In short",
    "data": "The data",
    "warnings": "What to look at in the data",
    "no_warnings": (
        "No constant column, no column that gives the answer away, no row on both sides of "
        "the split, no class that is rare."
    ),
    "model": "The model",
    "certificate": "The certificate",
    "held_out": "On rows that the model has not seen",
    "coefficients": "Coefficients, in the units of the columns",
    "importances": "Importance of each column",
    "compared": "The models compared",
    "pictures": "Pictures",
    "reproduce": "How to get this model again",
    "rows": "rows",
    "columns": "columns",
    "target": "target",
    "task": "task",
    "classification": "classification",
    "regression": "regression",
    "column": "column",
    "kind": "kind",
    "missing": "missing",
    "values": "values",
    "class": "class",
    "share": "share",
    "parameter": "parameter",
    "value": "value",
    "preparation": "How the columns are prepared (part of the model)",
    "command": "command",
    "seed": "seed",
    "versions": "versions",
    "true": "true class",
    "predicted": "predicted class",
    "count": "rows",
    "holds": "proved",
    "fails": "not proved",
    "vacuous": "true, but says nothing",
    "none": "no bound",
    "proves": "What it proves",
    "does_not_prove": "What it does not prove",
    "optimization_only": (
        "That the model is right about new rows. The certificate is about the training rows "
        "and this kind of model; the rows kept apart are the evidence about new ones."
    ),
    "against the rest": "against the rest",
    "against": "against",
    "details": "All the numbers, and where the theorem stands",
    "gap_words": (
        "The best model of this kind has an objective between {lower} and {upper} on these "
        "rows; this one has {upper}. So no other choice of its parameters is better by more "
        "than {gap}."
    ),
    "gap_percent": "That is {percent} of its objective, the relative gap.",
    "mistakes_words": (
        "Training made {lower} mistakes, and the theorem allows no more than {upper}."
    ),
    "training error_words": (
        "The model is wrong on {lower} of the training rows (as a share), and the theorem "
        "allows no more than {upper}."
    ),
    "stagewise_words": (
        "The training error is at most {lower} above the best one, and the theorem, unless its "
        "bound is left open, allows {upper}."
    ),
    "stationary_words": (
        "The conditions that hold at the best model are missed by {upper}; zero would be exact."
    ),
    "separation_words": (
        "A plane separates the classes with a margin of {lower}, and no plane has a margin "
        "above {upper}."
    ),
    "none_words": "This algorithm has no bound that holds for these data: {statement}",
    "bound_words": (
        "With a confidence of {confidence} %, the error on new rows that come like these is "
        "at most {bound}."
    ),
    "bound_tried": (
        "The bound takes into account that {tried} models were compared on these rows."
    ),
    "bound_none": (
        "There is no bound for this measure: one large error among the new rows could exceed "
        "any number computed from these."
    ),
    "held_out_words": "{rows} rows were kept apart before the training.",
    "no_held_out": (
        "No rows were kept apart, so nothing here says how the model does on new ones."
    ),
    "every_column": "Every column",
    "some_warnings": "Warnings about the data: {count}, below.",
    "error": "share of wrong predictions",
    "rmse": "root of the mean squared error",
    "r2": "R²",
    "number": "number",
    "boolean": "true or false",
    "category": "category",
    "other": "other",
    "mean": "{smallest} to {largest}, mean {mean}",
    "most_frequent": "{distinct} values, most often {value}",
    "distinct": "{distinct} values",
    "matrix": "A matrix of {columns} columns without names.",
    "standardized": "Numbers, less their mean and divided by their deviation: {count}.",
    "one_hot": "Categories, with a column of zeros and ones for each value: {count}.",
    "indicated": "Missing numbers become the mean, with a column that marks them: {names}.",
    "dropped": "Left out: {names}.",
    "as_given": "The numbers are used as they are.",
    "support": "support vectors",
    "seconds": "training time [s]",
    "interrupted": (
        "The training was ended before its goal. The certificate is about the model as it is."
    ),
    "model_column": "model",
    "time_column": "seconds",
    "gap_column": "relative gap",
    "proof_column": "certificate",
    "training_error": "error on training rows",
    "validation_error": "error on rows kept apart",
    "note": "note",
    "per_unit": "per unit",
    "bars": (
        "The number is how much the output changes for one unit of the column. The bar is that "
        "for one standard deviation, and for a category that for its presence, so that bars can "
        "be compared."
    ),
    "margins_title": "Margins",
    "margins_caption": "Below zero the prediction is wrong.",
    "margin_asked": " The dashed line at 1 is the margin that the training asks for.",
    "margin": "margin: score of the true class against the others",
    "row_count": "share of the rows",
    "training": "training rows",
    "kept_apart": "rows kept apart",
    "curve_title": "Loss against c = 1/(λn)",
    "curve_caption": (
        "Left of the best c the model is too simple, right of it it follows the training rows "
        "too closely."
    ),
    "trace_title": "The proof while the training ran",
    "trace_caption": "The relative gap that was proved, against time.",
    "trace_time": "seconds",
    "trace_gap": "relative gap",
    "fit_title": "Predicted against true",
    "fit_caption": "On the line the prediction is exact.",
    "true_value": "true value",
    "predicted_value": "predicted value",
    "remark_few rows": "So few rows are all trained on, and none are kept apart.",
    "remark_constant": "Column “{column}” never changes; it is left out.",
    "remark_missing": "Column “{column}” is missing in {share} of the rows.",
    "remark_identifier": (
        "Column “{column}” is left out: another whole number in every row, like an identifier "
        "(--keep takes it)."
    ),
    "remark_leak": (
        "Column “{column}” alone gives the target away. If it is only known afterwards, leave "
        "it out: the model would be of no use."
    ),
    "remark_unbalanced": (
        "Class “{label}” has {count} of {rows} rows. The error is small even for a model that "
        "never finds it: look at each class by itself, or set class_weight='balanced'."
    ),
    "remark_duplicates": (
        "{count} rows occur more than once; copies are kept on one side of the split."
    ),
    "more": "and {count} more",
    "alone": "This file is complete in itself: it loads nothing from the network.",
    "always": "always “{answer}”",
    "the_most_frequent": "the baseline: the most frequent class",
    "the_mean": "the baseline: the mean",
    "balanced accuracy": "balanced accuracy",
    "ROC AUC": "ROC AUC",
    "average precision": "average precision",
    "RMSE": "root of the mean squared error",
    "MAE": "mean absolute error",
    "R²": "R²",
    "of_class": "class “{label}”",
    "interval": "{confidence:.4g}%: {low} to {high}",
    "short_interval": "{low}–{high}",
    "no_interval": "too few rows for an interval",
    "taken_for": "as {label}",
    "recall": "recall",
    "precision": "precision",
    "alarm_constant": "This model gives the same answer for every row: {answer}.",
    "alarm_no better_classes": (
        "This model is no better than answering always “{answer}”: its error is {own}, that "
        "one’s {error}."
    ),
    "alarm_unclear_classes": (
        "It is not clear that this model is better than answering always “{answer}”: its error "
        "is {own}, that one’s {error}, which may be chance."
    ),
    "alarm_no better_numbers": (
        "This model is no better than answering always {answer}, the mean: the root of its mean "
        "squared error is {own}, that one’s {error}."
    ),
    "alarm_unclear_numbers": (
        "It is not clear that this model is better than answering always {answer}, the mean: "
        "the root of its mean squared error is {own}, that one’s {error}, which may be chance."
    ),
    "alarm_silent": (
        "This model never answers {labels}, though {rows} of these rows are of that kind."
    ),
    "alarm": "WARNING",
    "roc_title": "ROC curve",
    "roc_caption": (
        "How many of a class are found against how many others are taken for it, for every "
        "threshold. The diagonal is guessing."
    ),
    "found_rate": "share found",
    "false_rate": "share of the others taken for it",
    "residuals_title": "Residuals",
    "residuals_caption": (
        "What the prediction misses by, against the prediction. A pattern is something that the "
        "model has not learned."
    ),
    "residual": "true less predicted",
    "summary_what": (
        "It predicts “{target}” ({task}) from {columns} columns of {rows} rows, by {model}."
    ),
    "summary_error": (
        "On the {rows} rows kept apart the {measure} is {value} ({interval}); answering always "
        "“{answer}” gives {baseline}."
    ),
    "summary_proof": "The proof: {standing}.",
    "summary_matters": "What matters most: {names}.",
    "confusion": "What the rows of each class were taken for",
    "all_certificates": "Every certificate by itself",
    "of_them": "{count} of them",
    "objective": "objective",
    "best_at_least": "best at least",
    "below_the_gap": (
        "{count} more that are not told from 0: they are smaller than what the gap leaves open."
    ),
    "remark_target": "No target was named: “{column}” is predicted.",
    "remark_renamed": "Another column is called “{name}”; this one is “{column}” here.",
    "remark_cells": (
        "Column “{column}”: {count} cells that are no numbers are taken as missing ({cells})."
    ),
    "remark_mixed": "Column “{column}” holds numbers and words ({cells}): taken as categories.",
    "remark_without target": (
        "The target “{column}” is missing in {count} of {rows} rows, first in row {row}; they "
        "are left out."
    ),
    "remark_rare values": (
        "Column “{column}” is left out: it has many values, and none comes often."
    ),
    "remark_text": (
        "Column “{column}” is left out: {distinct} different texts in {rows} rows, names or "
        "free text (--keep takes it)."
    ),
    "remark_other": "Column “{column}” is left out: it holds {type}, which no model here can use.",
    "remark_day first": (
        "Column “{column}”: nothing tells the day from the month in dates such as “{cell}”; the "
        "day is taken to come first."
    ),
    "remark_month first": (
        "Column “{column}”: nothing tells the day from the month in dates such as “{cell}”; the "
        "month is taken to come first."
    ),
    "remark_more": "The same is true of {count} more columns: {some}",
    "remark_sorted": (
        "Column “{column}” rises or falls from row to row, with another whole number in each: "
        "leave it out if it is an identifier."
    ),
    "remark_group": "Rows with the same “{column}” are on one side of the split; it is left out.",
    "remark_twins": (
        "{count} of the {rows} rows have a twin: there are {different} different ones, and rows "
        "kept apart are like rows trained on."
    ),
}
