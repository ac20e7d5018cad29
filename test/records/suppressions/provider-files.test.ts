/** Files of other providers: how they are recognized, and what their columns mean. */
import t from 'tap'
import type { CsvRow } from '../../../src/base/platform/csv/rows.js'
import { parseProviderColumns, parseProviderLine } from '../../../src/records/suppressions/provider-files.js'

const row = (text: string, line = 2): CsvRow => ({ line, cells: text.split(',') })

t.test('a provider is recognized by its columns', async (t) => {
  for (const [names, provider] of [
    ['EmailAddress,SuppressionReason,Origin,CreatedAt', 'postmark'],
    ['Email Address,Suppression Reason', 'postmark'],
    ['EmailAddress,Reason,LastUpdateTime', 'ses'],
    ['a@b.test,BOUNCE', 'ses'],
    ['a@b.test', 'list'],
    ['address,code,error,created_at', 'mailgun'],
    ['address,tags,created_at', 'mailgun'],
    ['address,created_at', 'mailgun'],
    ['status,reason,email,created', 'sendgrid'],
    ['ip,email,created', 'sendgrid'],
    ['email,created', 'sendgrid'],
    ['email,reason', 'list'],
    ['email,reason,created_at', 'list'],
    ['Recipient,Type', 'list'],
    ['email', 'list'],
  ] as const) {
    t.equal(parseProviderColumns(row(names))?.provider, provider, names)
  }
  for (const names of ['', 'name', 'email,email', 'constructor,toString'])
    t.equal(parseProviderColumns(row(names)), null, names)
})

t.test('the meaning of a line', async (t) => {
  const table: readonly (readonly [string, string, object])[] = [
    ['EmailAddress,SuppressionReason,Origin', 'a@b.test,HardBounce,Recipient', { reason: 'hard_bounce' }],
    ['EmailAddress,SuppressionReason,Origin', 'a@b.test,SpamComplaint,Recipient', { reason: 'spam_complaint' }],
    ['EmailAddress,SuppressionReason,Origin', 'a@b.test,ManualSuppression,Recipient', { reason: 'unsubscribe' }],
    ['EmailAddress,SuppressionReason,Origin', 'a@b.test,ManualSuppression,Customer', { reason: 'manual' }],
    ['EmailAddress,Reason', 'a@b.test,BOUNCE', { reason: 'hard_bounce' }],
    ['EmailAddress,Reason', 'a@b.test,COMPLAINT', { reason: 'spam_complaint' }],
    ['x@b.test,BOUNCE', 'a@b.test,COMPLAINT', { reason: 'spam_complaint' }],
    ['address,code,error', 'a@b.test,550,no such user', { reason: 'hard_bounce', diagnostic: '550 no such user' }],
    ['address,code,error', 'a@b.test,,no such user', { reason: 'hard_bounce' }],
    [
      'address,code,error',
      'a@b.test,552,552 5.2.2 mailbox full',
      { field: 'status', reason: /does not refer to the address/ },
    ],
    ['address,code,error', 'a@b.test,550,550-5.7.1 blocked by policy', { field: 'status' }],
    ['address,code,error', 'a@b.test,550,550 5.1.1 unknown to 5.3.2.1', { reason: 'hard_bounce' }],
    ['address,code,error', 'a@b.test,421,later', { field: 'reason', reason: /temporary/ }],
    ['address,tags,created_at', 'a@b.test,*,Tue 07 Jan', { reason: 'unsubscribe', moment: 'Tue 07 Jan' }],
    ['address,created_at', 'a@b.test,2025', { reason: null }],
    ['status,reason,email,created', '5.1.1,550 5.1.1 nobody,a@b.test,1', { reason: 'hard_bounce', moment: '1' }],
    ['status,reason,email,created', ',mailbox unknown,a@b.test,1', { reason: 'hard_bounce' }],
    ['status,reason,email,created', '4.4.2,timeout,a@b.test,1', { reason: /temporary/ }],
    [
      'status,reason,email,created',
      '5.7.1,blocked by policy,a@b.test,1',
      { field: 'status', reason: /does not refer to the address/ },
    ],
    ['status,reason,email,created', '5.2.2,full,a@b.test,1', { field: 'status' }],
    ['email,created', 'a@b.test,1', { reason: null }],
    ['email,created,reason', 'a@b.test,1,unsubscribe', { reason: 'unsubscribe' }],
    ['email,reason', 'A@B.test,spam_complaint', { email: 'A@b.test', reason: 'spam_complaint' }],
    ['email,reason', 'a@b.test,', { reason: null }],
    ['email,reason', 'a@b.test', { reason: null }],
    ['email,reason', 'a@b.test,soft-bounce', { reason: /temporary/ }],
    ['email,reason', 'a@b.test,constructor', { field: 'reason', reason: /known/, value: 'constructor' }],
    ['email,reason', 'nobody,manual', { line: 2, field: 'email', value: 'nobody' }],
    ['email,reason', "'=a@b.test,manual", { email: '=a@b.test' }],
  ]
  for (const [names, line, expected] of table) {
    const columns = parseProviderColumns(row(names, 1))
    t.match(columns === null ? null : parseProviderLine(columns, row(line)), expected, `${names}: ${line}`)
  }
})
