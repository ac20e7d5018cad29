/** The mail about each change of an account: it says what was changed, when and from where, and contains no text of others. */
import t from 'tap'
import { parseAddress } from '../../../src/base/mail/address.js'
import { SERVICE_WORKSPACE } from '../../../src/base/storage/tables/tables.js'
import { buildAccountMail, createAccountNotices } from '../../../src/operations/notices/account-notice.js'
import { addSuppression } from '../../../src/records/suppressions/suppressions.js'
import type { AccountChange } from '../../../src/workspaces/accounts/sessions/account-notices.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

const email = parseAddress('ann@b.test')
const NOW = Date.UTC(2026, 0, 31, 9, 5)
const client = { remoteAddress: '192.0.2.1', userAgent: 'Firefox/140.0 (Linux) http://evil.test' }
const describe = (change: AccountChange): string[] => {
  const { to, subject, pieces } = buildAccountMail({ email, change, client, now: NOW }, 'https://mail.test')
  t.equal(to, email)
  return [subject, JSON.stringify(pieces)]
}

for (const [change, subject, words] of [
  [{ kind: 'password-changed' }, 'Your password was changed', 'The password of the account ann@b.test was changed.'],
  [{ kind: 'second-factor-enabled' }, 'The second factor was turned on', 'you need a code of your authenticator app'],
  [{ kind: 'second-factor-disabled' }, 'The second factor was turned off', 'you need only the password'],
  [{ kind: 'recovery-codes-replaced' }, 'New recovery codes were made', 'The earlier codes no longer work.'],
  [{ kind: 'recovery-code-used', left: 0 }, 'A recovery code was used', 'No code is left. Make new recovery codes'],
  [{ kind: 'recovery-code-used', left: 1 }, 'A recovery code was used', 'One code is left. Make new recovery codes'],
  [{ kind: 'recovery-code-used', left: 2 }, 'A recovery code was used', '2 codes are left. Make new recovery codes'],
  [{ kind: 'recovery-code-used', left: 3 }, 'A recovery code was used', '3 codes are left."'],
  [{ kind: 'new-browser' }, 'Sign-in from a new browser', 'from a browser that had not been used for it before.'],
] as const) {
  const [title = '', text = ''] = describe(change)
  t.equal(title, subject)
  t.ok(text.includes(words), text)
  for (const part of [
    '2026-01-31 09:05 UTC',
    'Firefox on Linux',
    '192.0.2.1',
    'https://mail.test/ui/forgotten-password',
  ])
    t.ok(text.includes(part), part)
  t.notOk(text.includes('evil'))
}

t.test('a change on the command line names no browser', async (t) => {
  const notice = { email, change: { kind: 'password-changed' }, client: null, now: NOW } as const
  t.match(buildAccountMail(notice, 'https://mail.test').pieces[1], {
    lines: ['Time: 2026-01-31 09:05 UTC', 'Place: the command line of the server'],
  })
})

t.test('an address from which mail of the service bounced gets none', async (t) => {
  const { database } = await temporaryDatabase(t)
  const offered: unknown[] = []
  const prepare = createAccountNotices({
    ...{ read: database.read, hostname: 'mail.test', mailFrom: parseAddress('service@mail.test') },
    publicUrl: 'https://mail.test',
    offer: (...parts) => offered.push(parts),
  })
  const notice = { email, change: { kind: 'new-browser' }, client, now: NOW } as const
  const prepared = await prepare(notice)
  await database.commit(prepared?.writes ?? [])
  prepared?.send()
  t.equal(offered.length, 1)
  t.match(await database.read('select subject, to_emails from emails', []), [
    { subject: 'Sign-in from a new browser', to_emails: '["ann@b.test"]' },
  ])
  const suppression = {
    workspaceId: SERVICE_WORKSPACE,
    email,
    reason: 'hard_bounce',
    sourceEmailId: null,
    metadata: {},
    at: NOW,
  } as const
  await database.commit([addSuppression(suppression)])
  t.equal(await prepare(notice), null)
})
