/**
 * Mail to a user about the security of the account: what was changed, when, and from where.
 *
 * Like mail with a password link, it is not written from an event: accounts belong to no workspace, so they have no
 * event log. It shows only a name that we know for the browser, and no text of its sender.
 */

import type { Read } from '../../base/storage/db/prepared.js'
import { SERVICE_WORKSPACE } from '../../base/storage/tables/tables.js'
import type { ServiceNotice, ServiceSender } from '../../records/messages/service-email.js'
import { isSuppressed } from '../../records/suppressions/suppressions.js'
import type { AccountChange, AccountNotice, PrepareNotice } from '../../workspaces/accounts/sessions/account-notices.js'
import { describeBrowser } from '../../workspaces/accounts/sessions/browser-name.js'
import { composeNotice, formatTime, type NoticeMail } from './notice-mail.js'

interface AccountNoticeDeps extends ServiceSender {
  readonly read: Read
  /** It has no slash at its end. */
  readonly publicUrl: string
  /** Hands committed mail to delivery. */
  readonly offer: (enqueued: ServiceNotice['enqueued']) => void
}

export function createAccountNotices(deps: AccountNoticeDeps): PrepareNotice {
  const { read, publicUrl, offer } = deps
  return async (notice) => {
    if (await isSuppressed(read, SERVICE_WORKSPACE, notice.email)) return null
    const { enqueued } = composeNotice(deps, buildAccountMail(notice, publicUrl), notice.now)
    return { writes: enqueued.writes, send: () => offer(enqueued) }
  }
}

export function buildAccountMail({ email, change, client, now }: AccountNotice, publicUrl: string): NoticeMail {
  const { subject, text } = describeChange(change, email)
  const origin =
    client === null
      ? ['Place: the command line of the server']
      : [`Browser: ${describeBrowser(client.userAgent)}`, `Address: ${client.remoteAddress}`]
  return {
    to: email,
    subject,
    pieces: [
      { kind: 'text', text },
      { kind: 'list', lines: [`Time: ${formatTime(now)}`, ...origin] },
      { kind: 'text', text: 'If you did this, you need to do nothing. If you did not, set a new password now:' },
      { kind: 'link', url: `${publicUrl}/ui/forgotten-password`, label: 'Set a new password' },
      { kind: 'text', text: 'A new password ends all sessions of the account.' },
    ],
  }
}

function describeChange(change: AccountChange, email: string): { readonly subject: string; readonly text: string } {
  switch (change.kind) {
    case 'password-changed':
      return { subject: 'Your password was changed', text: `The password of the account ${email} was changed.` }
    case 'second-factor-enabled':
      return {
        subject: 'The second factor was turned on',
        text: `From now on, you need a code of your authenticator app to sign in to the account ${email}.`,
      }
    case 'second-factor-disabled':
      return {
        subject: 'The second factor was turned off',
        text: `From now on, you need only the password to sign in to the account ${email}.`,
      }
    case 'recovery-codes-replaced':
      return {
        subject: 'New recovery codes were made',
        text: `The account ${email} has new recovery codes. The earlier codes no longer work.`,
      }
    case 'recovery-code-used':
      return { subject: 'A recovery code was used', text: describeUsedCode(email, change.left) }
    case 'new-browser':
      return {
        subject: 'Sign-in from a new browser',
        text: `Someone signed in to the account ${email} from a browser that had not been used for it before.`,
      }
  }
}

function describeUsedCode(email: string, left: number): string {
  const rest = left === 0 ? 'No code is left' : left === 1 ? 'One code is left' : `${left} codes are left`
  const advice = left < 3 ? ' Make new recovery codes on the page of your account.' : ''
  return `Someone signed in to the account ${email} with a recovery code. ${rest}.${advice}`
}
