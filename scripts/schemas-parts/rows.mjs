/**
 * Rows for every table of a schema, whichever it is: those that belong together are given here, and columns that a
 * schema does not have yet are left out. A table that is not named gets one row of its own. Tables that triggers keep
 * are not filled a second time.
 */

import { SERVICE_WORKSPACE } from '../../dist/src/base/storage/tables/tables.js'
import { hashKey } from '../../dist/src/workspaces/accounts/keys/api-keys.js'
import { generateDkimKey } from '../../dist/src/workspaces/domains/dkim/key.js'
import { columnsOf, rowOf, tablesOf } from '../../dist/test/helpers/database/rows.js'

/** The key of the workspace: test/journeys/upgrades.test.ts signs in with it. */
const SECRET = 'ph_fixture-of-an-earlier-schema-0000000000000'
const AT = Date.UTC(2026, 0, 1)
const NEVER = Date.UTC(2100, 0, 1)
const WORKSPACE = 'ws_0000000000000001'
const EMAILS = ['019b7000-0000-7000-8000-000000000001', '019b7000-0000-7000-8000-000000000002']
const RECIPIENTS = ['019b7000-0000-7000-8000-0000000000a1', '019b7000-0000-7000-8000-0000000000a2']
const [WAITING, DELIVERED] = EMAILS
const INBOUND = '019b7000-0000-7000-8000-0000000000b1'

const message = Buffer.from(
  'From: App <app@a.test>\r\nTo: bob@b.test\r\nSubject: of an earlier version\r\n\r\na line\r\n',
)

const email = (id, status, more = {}) => ({
  ...{ id, source: 'smtp', message_id: `<${id}@a.test>`, envelope_from: 'app@a.test', from_email: 'app@a.test' },
  ...{ from_name: 'App', from_domain: 'a.test', to_emails: '["bob@b.test"]', cc_emails: '[]', bcc_emails: '[]' },
  ...{ reply_to: '[]', subject: 'of an earlier version', tags: '[]', priority: 'normal', size: message.length, status },
  ...more,
})

const recipient = (at, status, more = {}) => ({
  ...{ id: RECIPIENTS[at], email_id: EMAILS[at], address: 'bob@b.test', domain: 'b.test', status, ...more },
})

const records = (dkim) => ({
  workspaces: [{ id: WORKSPACE, name: 'Own', slug: 'own', plan: 'unlimited' }],
  users: [{ id: 'usr_1', email: 'owner@a.test', full_name: 'Owner' }],
  members: [{ id: 'mem_1', user_id: 'usr_1', role: 'owner', joined_at: AT }],
  api_keys: [
    {
      ...{ id: '019b7000-0000-7000-8000-0000000000c1', user_id: 'usr_1', name: 'app', key_hash: hashKey(SECRET) },
      ...{ key_prefix: SECRET.slice(0, 11), scopes: '["full"]', allowed_networks: '[]', allowed_domains: '[]' },
    },
  ],
  domains: [
    {
      ...{ id: '019b7000-0000-7000-8000-0000000000d1', domain: 'a.test', status: 'verified', forced: 1, inbound: 1 },
      ...{ verified_at: AT },
    },
  ],
  dkim_keys: [
    {
      ...{ id: '019b7000-0000-7000-8000-0000000000e1', domain: 'a.test', selector: 'ph1', signing: 1 },
      ...{ private_key: dkim.privateKey, public_record: dkim.publicRecord },
    },
  ],
  emails: [
    email(WAITING, 'queued', { recipients_queued: 1 }),
    email(DELIVERED, 'delivered', { sent_at: AT, delivered_at: AT, recipients_delivered: 1 }),
  ],
  raw_messages: EMAILS.map((email_id) => ({ email_id, raw: message })),
  dkim_signatures: [{ email_id: DELIVERED, field: 'DKIM-Signature: v=1' }],
  recipients: [
    recipient(0, 'queued', { attempts: 1, last_response: '451 4.7.1 later' }),
    recipient(1, 'delivered', { attempts: 1, last_response: '250 ok', delivered_at: AT, settled_at: AT }),
  ],
  queue: [
    {
      ...{ id: RECIPIENTS[0], email_id: WAITING, recipient: 'bob@b.test', domain: 'b.test', priority: 1 },
      ...{ attempts: 1, enqueued_at: AT, next_attempt_at: NEVER, last_response: '451 4.7.1 later' },
    },
  ],
  attempts: RECIPIENTS.map((recipient_id, at) => ({
    ...{ recipient_id, email_id: EMAILS[at], number: 1, at: AT, duration: 5, reached: 1 },
    ...{ outcome: at === 0 ? 'deferred' : 'delivered', response: at === 0 ? '451 4.7.1 later' : '250 ok' },
  })),
  events: EMAILS.map((email_id, at) => ({
    ...{ id: `evt_${at}`, type: at === 0 ? 'email.deferred' : 'email.delivered', email_id, recipient: 'bob@b.test' },
    data: '{}',
  })),
  suppressions: [{ id: 'sup_1', email: 'gone@b.test', reason: 'hard_bounce', metadata: '{}' }],
  inbound_emails: [
    {
      ...{ id: INBOUND, kind: 'mail', status: 'processed', domain: 'a.test', envelope_from: 'carol@c.test' },
      ...{ envelope_to: 'info@a.test', from_email: 'carol@c.test', subject: 'hello', size: message.length },
      ...{ reference_ids: '[]', to_emails: '["info@a.test"]', cc_emails: '[]', spam_report: '[]', received_at: AT },
      ...{ authentication: '{}', has_text: 1, processed_at: AT },
    },
  ],
  inbound_raw: [{ inbound_id: INBOUND, raw: message, received_at: AT }],
  blocked_addresses: [{ domain_id: '019b7000-0000-7000-8000-0000000000d1', local_part: 'spam' }],
  cached_files: [{ key: 'f1', name: 'a.txt', content_type: 'text/plain', size: 3, complete: 1 }],
  cached_file_chunks: [{ key: 'f1', place: 0, bytes: Buffer.from('abc') }],
  audiences: [{ id: 'aud_1', name: 'Readers' }],
  contacts: [{ id: 'con_1', audience_id: 'aud_1', email: 'dan@d.test', email_key: 'dan@d.test', metadata: '{}' }],
  links: [{ id: 'lnk_1', email_id: DELIVERED, url: 'https://a.test/' }],
  html_edits: [{ email_id: DELIVERED, edits: '[]' }],
  recipient_copies: [{ recipient_id: RECIPIENTS[1], email_id: DELIVERED }],
  unsubscribe_links: [{ recipient_id: RECIPIENTS[1], email_id: DELIVERED }],
  webhooks: [{ id: 'whk_1', url: 'https://hooks.a.test/', events: '["email.delivered"]', enabled: 0 }],
  webhook_deliveries: [{ id: 'del_1', webhook_id: 'whk_1', status: 'delivered', type: 'email.delivered' }],
  webhook_replays: [{ id: 'rep_1', webhook_id: 'whk_1', types: '[]' }],
  // What is under way would go on by itself.
  imports: [{ id: 'imp_1', status: 'completed', options: '{}', finished_at: AT }],
  import_chunks: [{ import_id: 'imp_1' }],
  exports: [{ id: 'exp_1', status: 'failed', finished_at: AT }],
  export_chunks: [{ export_id: 'exp_1', start_at: 0, bytes: Buffer.from('email\r\n') }],
  broadcasts: [{ id: 'brc_1', audience_id: 'aud_1', status: 'draft' }],
  broadcast_messages: [
    { email_id: DELIVERED, recipient_id: RECIPIENTS[1], broadcast_id: 'brc_1', contact_id: 'con_1' },
  ],
  known_browsers: [{ user_id: 'usr_1', token_hash: 'browser' }],
  domain_reports: [
    {
      ...{ id: 'drp_1', domain_id: '019b7000-0000-7000-8000-0000000000d1', kind: 'tls', domain: 'a.test' },
      ...{ reporter: 'b.test', report_id: '1', begins_at: AT, ends_at: AT, messages: 1, passed: 1, received_at: AT },
    },
  ],
  domain_report_rows: [{ report_id: 'drp_1', rows: '[]' }],
  sts_policies: [{ domain: 'b.test', policy_id: '1', mode: 'testing', patterns: '["mx.b.test"]' }],
  tls_policies: [
    { day: '2026-01-01', domain: 'b.test', policy: 'none', type: 'no-policy-found', strings: '[]', hosts: '[]' },
  ],
  tls_results: [{ day: '2026-01-01', domain: 'b.test', policy: 'none', result: '', detail: '', sessions: 1 }],
  // One that is due would be sent.
  tls_reports: [{ day: '2026-01-01', domain: 'b.test', state: 'sent', uris: '[]', settled_at: AT }],
  forward_rules: [
    { id: 'fwd_1', domain_id: '019b7000-0000-7000-8000-0000000000d1', local_part: 'sales', targets: '["ann@b.test"]' },
  ],
  forward_targets: [{ address_key: 'ann@b.test', id: 'fwt_1', address: 'ann@b.test', requests: 1 }],
  inbound_forwards: [{ inbound_id: INBOUND, target: 'ann@b.test', rule_id: 'fwd_1', status: 'not-forwarded' }],
  // A rule that names no domain would hold the mail that waits.
  hold_rules: [{ id: 'hold_1', workspace_id: SERVICE_WORKSPACE, domain: 'held.test' }],
  doctor_findings: [
    {
      ...{ workspace_id: SERVICE_WORKSPACE, check_name: 'ptr', subject: '192.0.2.1', state: 'fail' },
      ...{ text: 'there is no PTR record', remedy: '[]' },
    },
  ],
  acme_names: [{ name: 'posthorn.a.test', orders: '[]', issued: '[]' }],
})

/** An erasure would remove the workspace. */
const LEFT_EMPTY = ['erasures']

export async function fillTables(database) {
  const row = rowOf(database.read)
  const own = records(await generateDkimKey())
  const tables = await tablesOf(database.read)
  const named = Object.keys(own).filter((table) => tables.includes(table))
  const others = tables.filter((table) => !(table in own) && !LEFT_EMPTY.includes(table))
  const countOf = async (table) => (await database.read(`select count(*) as n from ${table}`, []))[0].n
  const writeOf = async (table, given) => {
    const columns = await columnsOf(database.read, table)
    const known = columns.filter(({ name }) => name in given).map(({ name }) => [name, given[name]])
    const usual = { ...usualValues(columns), ...(await defaultsOf(database, table)) }
    return row(table, { ...usual, ...Object.fromEntries(known) })
  }
  const writesOf = (table) => Promise.all((own[table] ?? [{}]).map((given) => writeOf(table, given)))
  await database.commit((await Promise.all(named.map(writesOf))).flat())
  for (const table of others) if ((await countOf(table)) === 0) await database.commit(await writesOf(table))
  const counts = await Promise.all(tables.map(countOf))
  return counts.reduce((sum, count) => sum + count, 0)
}

function usualValues(columns) {
  const times = columns.filter(({ name, notnull }) => notnull === 1 && name.endsWith('_at'))
  const workspace = columns.some(({ name }) => name === 'workspace_id') ? { workspace_id: WORKSPACE } : {}
  return { ...Object.fromEntries(times.map(({ name }) => [name, AT])), ...workspace }
}

/** What the schema gives a column that an insert leaves out. */
async function defaultsOf({ read }, table) {
  const columns = await read(
    'select name, dflt_value as value from pragma_table_info(?) where dflt_value is not null',
    [table],
  )
  const defaultOf = async ({ name, value }) => [name, (await read(`select ${value} as value`, []))[0].value]
  return Object.fromEntries(await Promise.all(columns.map(defaultOf)))
}
