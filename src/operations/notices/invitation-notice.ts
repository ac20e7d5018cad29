/**
 * The mail of an invitation, with its link, which is made here and not stored.
 *
 * A user can have it sent to any address. Therefore its subject contains no text of users, and names appear only as
 * short quoted words that cannot contain a link.
 */
import type { KeyObject } from 'node:crypto'
import type { Read } from '../../base/storage/db/prepared.js'
import { buildInvitationToken, invitationOfToken } from '../../workspaces/accounts/people/invitations.js'
import { formatTime, type NoticeMail, quoteName } from './notice-mail.js'

export interface InvitationNoticeDeps {
  readonly read: Read
  readonly secret: KeyObject
  /** It has no slash at its end. */
  readonly publicUrl: string
}

export interface InvitationEventData {
  readonly invitation_id: string
}

/** Empty if the invitation is no longer pending. */
export async function buildInvitationNotices(
  { read, secret, publicUrl }: InvitationNoticeDeps,
  { invitation_id: id }: InvitationEventData,
  now: number,
): Promise<readonly NoticeMail[]> {
  const [row] = await invitationOfToken(read, { id })
  if (row === undefined || row.status !== 'pending' || row.expires_at <= now) return []
  const workspace = quoteName(row.workspace)
  const name = quoteName(row.invited_by_name)
  const by = name === null ? row.invited_by_email : `${name} (${row.invited_by_email})`
  const where = workspace === null ? 'a workspace' : `the workspace ${workspace}`
  const url = `${publicUrl}/ui/invitation?token=${buildInvitationToken(secret, id)}`
  const role = row.role === 'admin' ? 'an admin' : 'a member'
  return [
    {
      to: row.email,
      givesAccess: true,
      subject: 'Invitation to a workspace',
      pieces: [
        { kind: 'text', text: `${by} invites you to join ${where} as ${role}.` },
        { kind: 'text', text: `This link works once and expires on ${formatTime(row.expires_at)}:` },
        { kind: 'link', url, label: 'Accept the invitation' },
        {
          kind: 'text',
          text: 'If you do not know what this is about, do nothing. You join the workspace only if you open the link and accept.',
        },
      ],
    },
  ]
}
