"""Settings: one typed object, from a file, then the environment, then arguments; later wins."""

from ricordo.settings.fields import Settings
from ricordo.settings.groups.asker import login_name
from ricordo.settings.groups.place import data_path
from ricordo.settings.loading import Loaded, config_path, load_settings

__all__ = ["Loaded", "Settings", "config_path", "data_path", "load_settings", "login_name"]
