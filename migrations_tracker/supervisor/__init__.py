"""Everything behind `manage.py up`: the embedded services and the processes that are watched over."""
