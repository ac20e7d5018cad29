/**
 * The mail with a link that sets a new password. The link and its mail are one commit.
 *
 * It is not written from an event as other notices are: the token is known only while the mail is made.
 */

import type { Address } from '../../base/mail/address.js'
import type { Store } from '../../base/storage/db/database.js'
import { SERVICE_WORKSPACE } from '../../base/storage/tables/tables.js'
import type { ServiceNotice, ServiceSender } from '../../records/messages/service-email.js'
import { isSuppressed } from '../../records/suppressions/suppressions.js'
import { userByEmail } from '../../workspaces/accounts/people/users.js'
import { buildPasswordLink, endPasswordLinks } from '../../workspaces/accounts/sessions/password-links.js'
import { composeNotice, formatTime, type NoticeMail } from './notice-mail.js'

interface PasswordMailerDeps extends Store, ServiceSender {
  /** It has no slash at its end. */
  readonly publicUrl: string
  /** Hands committed mail to delivery. */
  readonly offer: (enqueued: ServiceNotice['enqueued']) => void
}

/** Sends nothing to an address without an account, or from which mail of the service bounced. */
export function createPasswordMailer(deps: PasswordMailerDeps): (email: Address, now: number) => Promise<void> {
  const { read, commit, publicUrl, offer } = deps
  return async (email, now) => {
    const [user] = await userByEmail(read, { email })
    // If it sends nothing, it writes too, and fails if nothing can be written: the answer tells nothing.
    if (user === undefined || (await isSuppressed(read, SERVICE_WORKSPACE, email)))
      return commit([endPasswordLinks({ userId: '', now })])
    const link = buildPasswordLink({ userId: user.id, purpose: 'reset', publicUrl, now })
    const notice = composeNotice(deps, buildMail(user.email, link), now)
    await commit([link.write, ...notice.enqueued.writes])
    offer(notice.enqueued)
  }
}

function buildMail(to: Address, { url, expiresAt }: { readonly url: string; readonly expiresAt: number }): NoticeMail {
  return {
    to,
    givesAccess: true,
    subject: 'Set a new password',
    pieces: [
      { kind: 'text', text: `Someone asked for a link to set a new password for the account ${to}.` },
      { kind: 'text', text: `This link works once and expires on ${formatTime(expiresAt)}:` },
      { kind: 'link', url, label: 'Set a new password' },
      { kind: 'text', text: 'If you did not ask for it, do nothing. Your password does not change.' },
    ],
  }
}
