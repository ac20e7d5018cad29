/**
 * All commands that are given the configuration and the database, in the order of the help.
 *
 * The files of this folder say what help and the parser need, and load the code of a command when it is called:
 * `posthorn --version` must not wait for the modules of every command.
 */
import type { Command } from '../command/command.js'
import type { CommandGroup } from '../command/help.js'
import { domainCommands } from './domains.js'
import { messageCommands } from './messages.js'
import { queueCommands } from './queue.js'
import { serviceCommands } from './service.js'
import { workspaceCommands } from './workspaces.js'

export const commandGroups = [
  { title: 'Workspaces, people and keys', commands: workspaceCommands },
  { title: 'Domains', commands: domainCommands },
  { title: 'Queue', commands: queueCommands },
  { title: 'Messages', commands: messageCommands },
  { title: 'Service', commands: serviceCommands },
] as const satisfies readonly CommandGroup[]

export const databaseCommands: readonly Command[] = commandGroups.flatMap(({ commands }) => commands)
