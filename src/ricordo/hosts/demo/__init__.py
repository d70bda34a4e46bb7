"""The demonstration: a story played by a real agent against recorded completions of a model."""

from ricordo.hosts.demo.endpoint import endpoint
from ricordo.hosts.demo.recordings import Recording, Replay, load
from ricordo.hosts.demo.scene import Plain, Scene
from ricordo.hosts.demo.story import Stage, StoryClock, StoryIds, play

__all__ = [
    "Plain",
    "Recording",
    "Replay",
    "Scene",
    "Stage",
    "StoryClock",
    "StoryIds",
    "endpoint",
    "load",
    "play",
]
