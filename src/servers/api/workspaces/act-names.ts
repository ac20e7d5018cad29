/**
 * Names of the targets of acts in the audit log, by id: people, keys, webhooks, invitations.
 *
 * The ids come from the log of one workspace. A target that was removed since has no name.
 */

import type { Read } from '../../../base/storage/db/prepared.js'
import { keyById } from '../../../workspaces/accounts/keys/api-keys.js'
import { invitationById } from '../../../workspaces/accounts/people/invitations.js'
import { userById } from '../../../workspaces/accounts/people/users.js'
import { webhookById } from '../../../workspaces/webhooks/webhook-records.js'

interface NamedAct {
  readonly actor: string
  readonly action: string
  readonly target: string
  readonly details: Readonly<Record<string, unknown>>
}

type FindName = (read: Read, workspaceId: string, id: string) => Promise<string | undefined>

const findUser: FindName = async (read, _, id) => {
  const [user] = await userById(read, { id })
  return user === undefined || user.full_name === '' ? user?.email : `${user.full_name} (${user.email})`
}
const findKey: FindName = async (read, workspaceId, id) => (await keyById(read, { workspaceId, id }))[0]?.name
const findInvited: FindName = async (read, workspaceId, id) =>
  (await invitationById(read, { workspaceId, id }))[0]?.email
/** Returns the origin alone, because paths of such URLs are often secrets. */
const findOrigin: FindName = async (read, workspaceId, id) => {
  const webhook = await webhookById(read, { workspaceId, id })
  return webhook === undefined ? undefined : new URL(webhook.url).origin
}

/** Finds the name of an act's target, by the first part of its action. */
const targets: ReadonlyMap<string, FindName> = new Map([
  ['api_key', findKey],
  ['webhook', findOrigin],
  ['invitation', findInvited],
  ['user', findUser],
])

/** Details that are ids. */
const idDetails: readonly (readonly [detail: string, find: FindName])[] = [
  ['by_key', findKey],
  ['user_id', findUser],
  ['owner', findUser],
  ['from', findUser],
  ['to', findUser],
]

/** `acts` are those of a page, of this workspace. */
export async function findActNames(
  read: Read,
  workspaceId: string,
  acts: readonly NamedAct[],
): Promise<Readonly<Record<string, string>>> {
  const names = new Map<string, string | undefined>()
  const add = async (id: unknown, find: FindName): Promise<void> => {
    if (typeof id === 'string' && !names.has(id)) names.set(id, await find(read, workspaceId, id))
  }
  for (const { actor, action, target, details } of acts) {
    await add(actor, findUser)
    const find = targets.get(action.slice(0, action.indexOf('.')))
    if (find !== undefined) await add(target, find)
    for (const [detail, findDetail] of idDetails) if (detail in details) await add(details[detail], findDetail)
  }
  return Object.fromEntries([...names].flatMap(([id, name]) => (name === undefined ? [] : [[id, name]])))
}
