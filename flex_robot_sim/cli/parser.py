"""Commands and their parsers: complaints of one line, an example below every help."""

import argparse
from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple, NoReturn

from flex_robot_sim.cli.completion import complete_robots


class Command(NamedTuple):
    """What stands about a command in the help of the command above it, and below its own."""

    about: str
    example: str


class Parser(argparse.ArgumentParser):
    """A parser whose complaint is one line."""

    example = ''

    def add_argument(self, *words: Any, **options: Any) -> argparse.Action:
        """Add an argument; shells know what robots there are."""
        action = super().add_argument(*words, **options)
        if action.metavar == 'URDF':
            complete_robots(action)
        return action

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse `--seconds=--`, of which some versions of argparse make an empty list."""
        for option, _, value in (word.partition('=') for word in args or ()):
            if value == '--' and option[:1] == '-':
                self.error(f'argument {option}: "--" is no value')
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """End with one line."""
        self.exit(2, f'{self.prog}: {message}. Try {self.prog} --help.\n')

    def format_help(self) -> str:
        """Return the help, with the example."""
        example = f'\nexample: {self.example}\n' if self.example else ''
        return super().format_help() + example


def add_commands(parser: argparse.ArgumentParser, modules: str, commands: Mapping[str, Command],
                 wanted: str | None, name: str = 'command') -> None:
    """
    Add commands to a parser; only the one that is wanted says what it takes.

    :param modules: where they are imported from, before their names: some take a while to load.
    :param name: of the attribute that holds the command.
    """
    added: Any = parser.add_subparsers(dest=name, required=True, metavar='COMMAND',
                                       parser_class=Parser)
    for word, command in commands.items():
        if word == wanted:
            import_module(f'{modules}{word}').add_to(added, command.about)
            added.choices[word].example = command.example
        else:
            added.add_parser(word, help=command.about)
