"""Commands and their parsers: one-line errors, an example at the end of every help."""

import argparse
import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple, NoReturn

from flex_robot_sim.cli.completion import complete_robots, is_requested

NEGATIVE_NUMBER = re.compile(r'-[\d.][-+\d.,e]*')  # argparse takes -1,0,0 for an option
UNKNOWN_COMMAND = re.compile(r"argument COMMAND: invalid choice: '(.*?)' ")


class Command(NamedTuple):
    """Summary of a command in the list of commands, and the example in its own help."""

    about: str
    example: str
    takes_help: bool = False  # --help is one of its words


class Parser(argparse.ArgumentParser):
    """Argument parser that reports errors in one line."""

    example = ''
    commands: Sequence[str] = ()
    _words: Sequence[str] = ()

    def add_argument(self, *words: Any, **options: Any) -> argparse.Action:
        """Add an argument; a robot argument completes to the available robots."""
        action = super().add_argument(*words, **options)
        if action.metavar == 'URDF':
            complete_robots(action)
        return action

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse `--seconds=--`, which some versions of argparse turn into an empty list."""
        self._words = [*(args or ())]
        for option, _, value in (word.partition('=') for word in args or ()):
            if value == '--' and option[:1] == '-':
                self.error(f'argument {option}: "--" is no value')
        return super().parse_known_args(args, namespace)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse all arguments; the subcommand reports those that it does not know."""
        arguments, unrecognized = self.parse_known_args(args, namespace)
        if unrecognized:
            getattr(arguments, 'parser', self).error(
                f'unrecognized arguments: {" ".join(unrecognized)}'
            )
        return arguments

    def error(self, message: str) -> NoReturn:
        """Exit with a one-line message."""
        option = message.removeprefix('argument ').removesuffix(': expected one argument')
        for word, value in zip(self._words, self._words[1:]):
            if (
                option.endswith(word)
                and NEGATIVE_NUMBER.fullmatch(value)
                and ('expected' in message)
            ):
                message = f'argument {option}: {value} begins with -, so write {word}={value}'
        unknown = UNKNOWN_COMMAND.match(message)
        if unknown:
            message = self._unknown_command_message(unknown[1])
        end = '' if message.endswith('?') else '.'
        self.exit(2, f'{self.prog}: {message}{end} Try {self.prog} --help.\n')

    def _unknown_command_message(self, word):
        from flex_robot_sim.description.values import closest  # imports lxml

        suggestion = closest(word, self.commands)
        hint = (
            f'Did you mean "{suggestion}"?' if suggestion else f'Known: {", ".join(self.commands)}'
        )
        return f'there is no command "{word}". {hint}'

    def format_help(self) -> str:
        """Return the help with the example."""
        example = f'\nexample: {self.example}\n' if self.example else ''
        return super().format_help() + example


def add_commands(
    parser: Parser,
    modules: str,
    commands: Mapping[str, Command],
    requested: str | None,
    name: str = 'command',
) -> None:
    """
    Add commands to a parser; only the requested one adds its arguments.

    :param modules: prefix of their module names; the requested one is imported.
    :param name: attribute of the arguments that holds the command.
    """
    parser.commands = tuple(commands)
    added: Any = parser.add_subparsers(
        dest=name, required=True, metavar='COMMAND', parser_class=Parser
    )
    for word, command in commands.items():
        chosen = added.add_parser(
            word, help=command.about, add_help=not command.takes_help or is_requested()
        )
        if word == requested:
            module = import_module(f'{modules}{word}')
            module.add_arguments(chosen)
            chosen.example = command.example
            # the parser of the command reports unrecognized arguments
            chosen.set_defaults(parser=chosen, run=module.run)
