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
  return (notice) => {
    if (isSuppressed(read, SERVICE_WORKSPACE, notice.email)) return null
    const { enqueued } = composeNotice(deps, buildAccountMail(notice, publicUrl), notice.now)
    return { writes: enqueued.writes, send: () => offer(enqueued) }
  }
}

export function buildAccountMail({ email, change, client, now }: AccountNotice, publicUrl: string): NoticeMail {
  const { subject, text } = describeChange(change, email)
  const origin =
    client === null
      ? ['On the command line of the server']
      : [`Browser: ${describeBrowser(client.userAgent)}`, `Address: ${client.remoteAddress}`]
  return {
    to: email,
    subject,
    pieces: [
      { kind: 'text', text },
      { kind: 'list', lines: [`Time: ${formatTime(now)}`, ...origin] },
      { kind: 'text', text: 'If this was you, there is nothing to do. If not, set a new password now:' },
      { kind: 'link', url: `${publicUrl}/ui/forgotten-password`, label: 'Set a new password' },
      { kind: 'text', text: 'That ends all sessions.' },
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
        text: `To sign in to the account ${email}, a code of an authenticator app is needed from now on.`,
      }
    case 'second-factor-disabled':
      return {
        subject: 'The second factor was turned off',
        text: `To sign in to the account ${email}, the password alone is enough from now on.`,
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
        text: `The account ${email} was used to sign in from a browser that was not used before.`,
      }
  }
}

function describeUsedCode(email: string, left: number): string {
  const rest = left === 0 ? 'None is left' : left === 1 ? 'One is left' : `${left} are left`
  const advice = left < 3 ? ' Make new ones on the page of your account.' : ''
  return `A recovery code of the account ${email} was used to sign in. ${rest}.${advice}`
}
