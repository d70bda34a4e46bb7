"""Settings: one typed object, from a file, then the environment, then arguments; later wins."""

from ricordo.settings.fields import Settings, data_path, login_name
from ricordo.settings.loading import Loaded, config_path, load_settings

__all__ = ["Loaded", "Settings", "config_path", "data_path", "load_settings", "login_name"]
