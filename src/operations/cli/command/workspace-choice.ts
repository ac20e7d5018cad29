/** The workspace of a command: that of `--workspace`, by its id, slug or name, or the only one. */

import type { Read } from '../../../base/storage/db/prepared.js'
import { allWorkspaces } from '../../../workspaces/accounts/workspace/workspaces.js'
import { CommandFailed, type OptionValues, textOption } from './command.js'

export async function chooseWorkspace(read: Read, options: OptionValues): Promise<string> {
  const workspaces = await allWorkspaces(read, {})
  const requested = textOption(options, 'workspace')
  if (requested !== undefined) {
    const found = workspaces.find(({ id, slug }) => id === requested || slug === requested)
    if (found !== undefined) return found.id
    const [named, another] = workspaces.filter(({ name }) => name === requested)
    if (named !== undefined && another === undefined) return named.id
    const fault = named === undefined ? 'no such workspace' : 'several workspaces have this name'
    throw new CommandFailed(`${fault}: ${requested}; "posthorn workspace list" shows the ids`)
  }
  const [only, ...others] = workspaces
  if (only === undefined) throw new CommandFailed('there is no workspace yet: run "posthorn setup" first')
  if (others.length > 0) {
    const names = workspaces.map(({ id, name }) => `${id} (${name})`).join(', ')
    throw new CommandFailed(`there are several workspaces, choose one with --workspace: ${names}`)
  }
  return only.id
}
