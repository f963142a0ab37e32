"""python -m cotas"""

from cotas.cli import main

if __name__ == "__main__":
    main()
