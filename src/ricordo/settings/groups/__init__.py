"""The settings by what they are about; `ricordo.settings.fields` puts them together."""
