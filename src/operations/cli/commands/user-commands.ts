/** `user list|set-password|reset-second-factor`, `workspace transfer`: actions of the operator. */

import { parseAddress, toLowerCaseAddress } from '../../../base/mail/address.js'
import { formatTimestamp } from '../../../base/platform/clock.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { tryCommit, type Write } from '../../../base/storage/db/write.js'
import { operatorActor, recordAuditEntry } from '../../../workspaces/accounts/access/audit-log.js'
import { memberByEmail, transferOwnership } from '../../../workspaces/accounts/people/members.js'
import { createPasswordHasher } from '../../../workspaces/accounts/people/passwords.js'
import { allUsers, setPassword, userByEmail } from '../../../workspaces/accounts/people/users.js'
import type { AccountNotice } from '../../../workspaces/accounts/sessions/account-notices.js'
import { forgetBrowsers } from '../../../workspaces/accounts/sessions/known-browsers.js'
import { recordForUser } from '../../../workspaces/accounts/sessions/own-account.js'
import { endPasswordLinks } from '../../../workspaces/accounts/sessions/password-links.js'
import { disableFactor, secondFactorOf } from '../../../workspaces/accounts/sessions/second-factor.js'
import { endAllSessions } from '../../../workspaces/accounts/sessions/session-records.js'
import { ownerOf, workspacesOfUser } from '../../../workspaces/accounts/workspace/workspaces.js'
import { type Answer, type Call, CommandFailed, refuseExtraWords, requiredWord } from '../command/command.js'
import { formatTable } from '../command/table.js'
import { chooseWorkspace } from '../command/workspace-choice.js'

export async function list({ words, database }: Call): Promise<Answer> {
  refuseExtraWords(words, 0)
  const { read } = await database()
  const data = await Promise.all((await allUsers(read, {})).map((user) => toResource(read, user)))
  const rows = data.map(({ id, email, full_name, has_password, workspaces }) => [
    id,
    email,
    full_name,
    has_password ? 'yes' : 'no',
    workspaces.map((of) => `${of.id} (${of.role})`).join(', '),
  ])
  return { json: { data }, lines: formatTable(['ID', 'EMAIL', 'NAME', 'PASSWORD', 'WORKSPACES'], rows) }
}

const MAX_WORKSPACES = 1_000

type User = Awaited<ReturnType<typeof allUsers>>[number]

async function toResource(read: Read, { id, email, full_name, password_hash, created_at }: User) {
  const workspaces = await workspacesOfUser(read, { userId: id, limit: MAX_WORKSPACES, offset: 0 })
  return {
    ...{ id, email, full_name, has_password: password_hash !== null },
    workspaces: workspaces.map((of) => ({ id: of.id, role: of.role })),
    created_at: formatTimestamp(created_at),
  }
}

export async function changePassword(call: Call): Promise<Answer> {
  const { words, database, clock, readSecret } = call
  refuseExtraWords(words, 1)
  const email = toLowerCaseAddress(parseAddress(requiredWord(words, 0, 'EMAIL')))
  const { read, commit } = await database()
  const [user] = await userByEmail(read, { email })
  if (user === undefined) throw new CommandFailed(`no such user: ${email}`)
  const password = await readSecret(`password of ${email}: `)
  const hash = await createPasswordHasher().hash(password, { email, fullName: user.full_name })
  const at = clock()
  const userId = user.id
  const writes = [
    setPassword({ id: userId, hash }),
    endPasswordLinks({ userId, now: at }),
    endAllSessions(userId),
    forgetBrowsers(userId, null),
    ...(await recordForUser(read, { userId, actor: operatorActor, action: 'user.password_set', at })),
    ...(user.password_hash === null
      ? []
      : await writeNotice(call, read, { email, change: { kind: 'password-changed' } })),
  ]
  if (!(await tryCommit(commit(writes)))) {
    throw new CommandFailed(`this user no longer exists: ${email}`)
  }
  return { json: { user_id: user.id, email }, lines: [`${email} has a new password`] }
}

/** The mail that reports a change to the user: the daemon sends it once it notices the commit. */
async function writeNotice(
  { config, clock }: Call,
  read: Read,
  { email, change }: Pick<AccountNotice, 'email' | 'change'>,
): Promise<readonly Write[]> {
  // It is loaded here: other commands start faster without the code that composes mail.
  const { createAccountNotices } = await import('../../notices/account-notice.js')
  const { hostname, mail_from: mailFrom, public_url: publicUrl } = config.service
  const prepare = createAccountNotices({ read, hostname, mailFrom, publicUrl, offer: () => undefined })
  return (await prepare({ email, change, client: null, now: clock() }))?.writes ?? []
}

export async function resetSecondFactor(call: Call): Promise<Answer> {
  const { words, database, clock } = call
  refuseExtraWords(words, 1)
  const email = toLowerCaseAddress(parseAddress(requiredWord(words, 0, 'EMAIL')))
  const { read, commit } = await database()
  const [user] = await userByEmail(read, { email })
  if (user === undefined) throw new CommandFailed(`no such user: ${email}`)
  const [factor] = await secondFactorOf(read, { userId: user.id })
  if ((factor?.totp_enabled_at ?? null) === null) throw new CommandFailed(`${email} has no second factor`)
  const act = { userId: user.id, actor: operatorActor, action: 'user.totp_disabled', at: clock() } as const
  const writes = [
    ...disableFactor(user.id),
    endAllSessions(user.id),
    ...(await recordForUser(read, act)),
    ...(await writeNotice(call, read, { email, change: { kind: 'second-factor-disabled' } })),
  ]
  if (!(await tryCommit(commit(writes)))) throw new CommandFailed(`this user no longer exists: ${email}`)
  return { json: { user_id: user.id, email }, lines: [`${email} signs in with the password alone`] }
}

export async function transfer({ words, database, clock }: Call): Promise<Answer> {
  refuseExtraWords(words, 2)
  const [workspace, given] = [requiredWord(words, 0, 'ID'), requiredWord(words, 1, 'EMAIL')]
  const email = toLowerCaseAddress(parseAddress(given))
  const { read, commit } = await database()
  const workspaceId = await chooseWorkspace(read, { workspace })
  const [owner] = await ownerOf(read, { workspaceId })
  const [member] = await memberByEmail(read, { workspaceId, email })
  if (owner === undefined) throw new CommandFailed(`the workspace ${workspaceId} has no owner`)
  if (member === undefined) throw new CommandFailed(`${email} is not a member of ${workspaceId}: invite them first`)
  if (member.role === 'owner') throw new CommandFailed(`${email} owns ${workspaceId} already`)
  const [ownerId, newOwnerId] = [owner.user_id, member.user_id]
  const details = { from: ownerId, to: newOwnerId }
  const act = {
    workspaceId,
    actor: operatorActor,
    action: 'workspace.transferred',
    target: workspaceId,
    details,
  } as const
  const writes = [...transferOwnership({ workspaceId, ownerId, newOwnerId }), recordAuditEntry({ ...act, at: clock() })]
  if (!(await tryCommit(commit(writes)))) throw new CommandFailed('the members changed at the same moment: try again')
  return {
    json: { workspace_id: workspaceId, owner_id: newOwnerId, former_owner_id: ownerId },
    lines: [`${workspaceId} belongs to ${email}`],
  }
}
