/**
 * The records of invitations to a workspace, which are valid for seven days, and the tokens of their links.
 *
 *   pending -> accepted | cancelled,  pending -> expired (after seven days, when another is created)
 *
 * These states are final. When an inviter may no longer invite, their invitations are cancelled in the
 * commit that removes the right (triggers of `members`). An invitation past its time is invalid
 * whatever its row says.
 *
 * A token is the id with an HMAC-SHA256. No secret is stored: the writer of the mail makes the token
 * from the record. Its validity is the state of the invitation, so each works once.
 */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'
import type { Address } from '../../../base/mail/address.js'
import type { Store } from '../../../base/storage/db/database.js'
import { prepareRead, prepareWrite, type StatementBuilder } from '../../../base/storage/db/prepared.js'
import type { Tables } from '../../../base/storage/tables/tables.js'

export const INVITATION_LIFETIME = 7 * 24 * 3_600_000
/** Ended invitations are kept for 30 days, so that a person who opens the link late learns why the link does not work. */
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

/** Marks an invitation past its time as expired, so that another can be inserted. */
export const expireInvitation = prepareWrite<{ workspaceId: string; email: Address; now: number }>(({ db, slot }) =>
  db
    .updateTable('invitations')
    .set({ status: 'expired' })
    .where('workspace_id', '=', slot('workspaceId'))
    .where('email', '=', slot('email'))
    .where('status', '=', 'pending')
    .where('expires_at', '<=', slot('now')),
)

/** Misses when the invitation is no longer pending: accepted, cancelled, or past its time. */
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

/** A page of the pending invitations, oldest first. */
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

/** The pending invitations that are cancelled when this user may no longer invite. */
export const pendingOfInviter = prepareRead<{ workspaceId: string; now: number; userId: string }>()((builder) =>
  selectPending(builder).select('id').where('invited_by', '=', builder.slot('userId')),
)

export const countPending = prepareRead<{ workspaceId: string; now: number }>()((builder) =>
  selectPending(builder).select(({ fn }) => fn.countAll<number>().as('count')),
)

export const invitationById = prepareRead<{ workspaceId: string; id: string }>()(({ db, slot }) =>
  db
    .selectFrom('invitations')
    .select(['email', 'status', 'expires_at'])
    .where('id', '=', slot('id'))
    .where('workspace_id', '=', slot('workspaceId')),
)

export function statusAt(
  { status, expires_at }: Pick<InvitationRow, 'status' | 'expires_at'>,
  now: number,
): InvitationRow['status'] {
  return status === 'pending' && expires_at <= now ? 'expired' : status
}

/** Reads an invitation of any workspace. The caller has a token for this id, which only we can make. */
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

/** Removes some invitations that ended more than 30 days ago. Resolves to whether there may be more. */
export async function removeOldInvitations({ read, commit }: Store, now: number): Promise<boolean> {
  const old = await oldInvitations(read, { before: now - RETENTION })
  if (old.length === 0) return false
  await commit(old.map(removeInvitation))
  return true
}

export function buildInvitationToken(secret: KeyObject, id: string): string {
  return `${id}.${signatureOf(secret, id)}`
}

/** The id of the invitation. It is null if the token is not ours. */
export function parseInvitationToken(secret: KeyObject, token: string): string | null {
  const [, id, signature] = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.([\w-]{43})$/.exec(token) ?? []
  if (id === undefined || signature === undefined) return null
  // We compare text, because several base64 texts decode to the same bytes.
  return timingSafeEqual(Buffer.from(signature), Buffer.from(signatureOf(secret, id))) ? id : null
}

/** Signs a JSON text with its purpose, so that no other signed link has the same text. */
function signatureOf(secret: KeyObject, id: string): string {
  return createHmac('sha256', secret)
    .update(JSON.stringify(['invitation', id]))
    .digest('base64url')
}
