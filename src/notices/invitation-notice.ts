/**
 * The mail of an invitation: who invites to what, and the link, which is made here and stored nowhere.
 *
 * Anybody may have it sent to anybody, so it carries no text of theirs in its subject, and names only
 * as short quoted words in which no link can stand.
 */
import type { KeyObject } from 'node:crypto'
import { buildInvitationToken } from '../accounts/people/invitation-token.js'
import { invitationOfToken } from '../accounts/people/invitations.js'
import type { Read } from '../storage/prepared.js'
import { formatTime, type NoticeMail, quoteName } from './notice-mail.js'

export interface InvitationNoticeDeps {
  readonly read: Read
  readonly secret: KeyObject
  /** Without a slash at its end. */
  readonly publicUrl: string
}

export interface InvitationEventData {
  readonly invitation_id: string
}

/** None where it does not wait any more. */
export function buildInvitationNotices(
  { read, secret, publicUrl }: InvitationNoticeDeps,
  { invitation_id: id }: InvitationEventData,
  now: number,
): readonly NoticeMail[] {
  const [row] = invitationOfToken(read, { id })
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
      subject: 'You are invited to a workspace',
      pieces: [
        { kind: 'text', text: `${by} invites you to join ${where} as ${role}.` },
        { kind: 'text', text: `The link works once, until ${formatTime(row.expires_at)}:` },
        { kind: 'link', url, label: 'Accept the invitation' },
        { kind: 'text', text: 'If you do not know what this is about, do nothing: without the link nothing happens.' },
      ],
    },
  ]
}
