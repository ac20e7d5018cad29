/**
 * Invitations: somebody may join a workspace, for seven days.
 *
 *   pending -> accepted | cancelled,  pending -> expired (when time passed, and another was made)
 *
 * None comes back from where it ended. One whose inviter may no longer invite is cancelled in the
 * commit that takes the right away (triggers of `members`). One whose time has passed counts as no
 * invitation, whatever its row says. The link is not kept: it is made anew from the id
 * (`invitation-token.ts`).
 */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'
import type { Address } from '../../mail/address.js'
import type { Store } from '../../storage/database.js'
import { prepareRead, prepareWrite, type StatementBuilder } from '../../storage/prepared.js'
import type { Tables } from '../../storage/tables/tables.js'

export const INVITATION_LIFETIME = 7 * 24 * 3_600_000
/** What is over stays for a month, so that whoever comes late is told why the link does not work. */
const RETENTION = 30 * 24 * 3_600_000

export type InvitationRow = Tables['invitations']

export const insertInvitation = prepareWrite<InvitationRow>(({ db, slot }) =>
  db.insertInto('invitations').values({
    id: slot('id'),
    workspace_id: slot('workspace_id'),
    email: slot('email'),
    role: slot('role'),
    status: slot('status'),
    invited_by_name: slot('invited_by_name'),
    invited_by_email: slot('invited_by_email'),
    invited_by: slot('invited_by'),
    created_at: slot('created_at'),
    expires_at: slot('expires_at'),
  }),
)

/** Makes room for another one. */
export const expireInvitation = prepareWrite<{ workspaceId: string; email: Address; now: number }>(({ db, slot }) =>
  db
    .updateTable('invitations')
    .set({ status: 'expired' })
    .where('workspace_id', '=', slot('workspaceId'))
    .where('email', '=', slot('email'))
    .where('status', '=', 'pending')
    .where('expires_at', '<=', slot('now')),
)

/** Misses when it is not pending any more: accepted, cancelled, or its time has passed. */
export const endInvitation = prepareWrite<{
  workspaceId: string
  id: string
  status: 'accepted' | 'cancelled'
  now: number
}>(
  ({ db, slot }) =>
    db
      .updateTable('invitations')
      .set({ status: slot('status') })
      .where('workspace_id', '=', slot('workspaceId'))
      .where('id', '=', slot('id'))
      .where('status', '=', 'pending')
      .where('expires_at', '>', slot('now')),
  1,
)

function selectPending<Values extends { workspaceId: string; now: number }>({ db, slot }: StatementBuilder<Values>) {
  return db
    .selectFrom('invitations')
    .where('workspace_id', '=', slot('workspaceId'))
    .where('status', '=', 'pending')
    .where('expires_at', '>', slot('now'))
}

interface PendingPage {
  workspaceId: string
  now: number
  limit: number
  offset: number
}

/** Some of those that wait, oldest first. */
export const pendingPage = prepareRead<PendingPage>()((builder) =>
  selectPending(builder)
    .selectAll()
    .orderBy('expires_at')
    .orderBy('id')
    .limit(builder.slot('limit'))
    .offset(builder.slot('offset')),
)

export const pendingByEmail = prepareRead<{ workspaceId: string; now: number; email: Address }>()((builder) =>
  selectPending(builder).select(['id', 'expires_at']).where('email', '=', builder.slot('email')),
)

/** Those that end with the right of this user to invite. */
export const pendingOfInviter = prepareRead<{ workspaceId: string; now: number; userId: string }>()((builder) =>
  selectPending(builder).select('id').where('invited_by', '=', builder.slot('userId')),
)

export const countPending = prepareRead<{ workspaceId: string; now: number }>()((builder) =>
  selectPending(builder).select(({ fn }) => fn.countAll<number>().as('count')),
)

export const invitationById = prepareRead<{ workspaceId: string; id: string }>()(({ db, slot }) =>
  db
    .selectFrom('invitations')
    .select(['status', 'expires_at'])
    .where('id', '=', slot('id'))
    .where('workspace_id', '=', slot('workspaceId')),
)

export function statusAt(
  { status, expires_at }: Pick<InvitationRow, 'status' | 'expires_at'>,
  now: number,
): InvitationRow['status'] {
  return status === 'pending' && expires_at <= now ? 'expired' : status
}

/** Of whichever workspace: whoever asks holds a token that only we can make for this id. */
export const invitationOfToken = prepareRead<{ id: string }>()(({ db, slot }) =>
  db
    .selectFrom('invitations')
    .innerJoin('workspaces', 'workspaces.id', 'invitations.workspace_id')
    .selectAll('invitations')
    .select('workspaces.name as workspace')
    .where('invitations.id', '=', slot('id')),
)

const oldInvitations = prepareRead<{ before: number }>()(({ db, slot }) =>
  db.selectFrom('invitations').select('id').where('expires_at', '<', slot('before')).orderBy('expires_at').limit(200),
)

const removeInvitation = prepareWrite<{ id: string }>(({ db, slot }) =>
  db.deleteFrom('invitations').where('id', '=', slot('id')),
)

/** Removes some of those that are long over; resolves to whether there may be more. */
export async function removeOldInvitations({ read, commit }: Store, now: number): Promise<boolean> {
  const old = oldInvitations(read, { before: now - RETENTION })
  if (old.length === 0) return false
  await commit(old.map(removeInvitation))
  return true
}

export function buildInvitationToken(secret: KeyObject, id: string): string {
  return `${id}.${signatureOf(secret, id)}`
}

/** The id of the invitation, or null: this is no token of ours. */
export function parseInvitationToken(secret: KeyObject, token: string): string | null {
  const [, id, signature] = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.([\w-]{43})$/.exec(token) ?? []
  if (id === undefined || signature === undefined) return null
  // As text: base64 has many ways to write the same bytes, and one of them is ours.
  return timingSafeEqual(Buffer.from(signature), Buffer.from(signatureOf(secret, id))) ? id : null
}

/** As JSON with its purpose, so that no other link of ours has the same text. */
function signatureOf(secret: KeyObject, id: string): string {
  return createHmac('sha256', secret)
    .update(JSON.stringify(['invitation', id]))
    .digest('base64url')
}
