"""Commands and their parsers: complaints of one line, an example below every help."""

import argparse
import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple, NoReturn

from flex_robot_sim.cli.completion import complete_robots

NUMBERS = re.compile(r'-[\d.][-+\d.,e]*')       # -1,0,0: to argparse an option
UNKNOWN_COMMAND = re.compile(r"argument COMMAND: invalid choice: '(.*?)' ")


class Command(NamedTuple):
    """What stands about a command in the help of the command above it, and below its own."""

    about: str
    example: str


class Parser(argparse.ArgumentParser):
    """A parser whose complaint is one line."""

    example = ''
    commands: Sequence[str] = ()
    _words: Sequence[str] = ()

    def add_argument(self, *words: Any, **options: Any) -> argparse.Action:
        """Add an argument; shells know what robots there are."""
        action = super().add_argument(*words, **options)
        if action.metavar == 'URDF':
            complete_robots(action)
        return action

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse `--seconds=--`, of which some versions of argparse make an empty list."""
        self._words = [*(args or ())]
        for option, _, value in (word.partition('=') for word in args or ()):
            if value == '--' and option[:1] == '-':
                self.error(f'argument {option}: "--" is no value')
        return super().parse_known_args(args, namespace)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Leave it to the command to complain of what it does not know."""
        arguments, left = self.parse_known_args(args, namespace)
        if left:
            getattr(arguments, 'parser', self).error(
                f'unrecognized arguments: {" ".join(left)}')
        return arguments

    def error(self, message: str) -> NoReturn:
        """End with one line."""
        option = message.removeprefix('argument ').removesuffix(': expected one argument')
        for word, value in zip(self._words, self._words[1:]):
            if option.endswith(word) and NUMBERS.fullmatch(value) and 'expected' in message:
                message = f'argument {option}: {value} begins with -, so write {word}={value}'
        unknown = UNKNOWN_COMMAND.match(message)
        if unknown:
            message = self._of_unknown_command(unknown[1])
        self.exit(2, f'{self.prog}: {message}. Try {self.prog} --help.\n')

    def _of_unknown_command(self, word):
        from flex_robot_sim.description.values import closest  # lxml, which most calls need not

        meant = closest(word, self.commands)
        hint = f'Did you mean {meant}' if meant else f'Known: {", ".join(self.commands)}'
        return f'there is no command "{word}". {hint}'

    def format_help(self) -> str:
        """Return the help, with the example."""
        example = f'\nexample: {self.example}\n' if self.example else ''
        return super().format_help() + example


def add_commands(parser: Parser, modules: str, commands: Mapping[str, Command],
                 wanted: str | None, name: str = 'command') -> None:
    """
    Add commands to a parser; only the one that is wanted says what it takes.

    :param modules: where they are imported from, before their names: some take a while to load.
    :param name: of the attribute that holds the command.
    """
    parser.commands = tuple(commands)
    added: Any = parser.add_subparsers(dest=name, required=True, metavar='COMMAND',
                                       parser_class=Parser)
    for word, command in commands.items():
        if word == wanted:
            import_module(f'{modules}{word}').add_to(added, command.about)
            chosen = added.choices[word]
            chosen.example = command.example
            chosen.set_defaults(parser=chosen)      # who complains of what nobody knows
        else:
            added.add_parser(word, help=command.about)
