/**
 * What a write of a row costs beyond the row, and how long the keys of the database can become. PostgreSQL refuses a row if an index would need more than 2,704 bytes of
 * it, so every text of a key has a bound, or a hash stands for it.
 *
 * The bounds are written here, in bytes of UTF-8, with the place where each is kept. A column that this table does not
 * know fails the test.
 */
// Of SQLite alone: the schema is asked in its words.
import t from 'tap'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { tablesOf } from '../../helpers/database/rows.js'

const MOST = 2_600
/** Of a number, and of what an index adds to each column. */
const NUMBER = 8
const ID = 64
/** `base/mail/address`: in ASCII. */
const DOMAIN = 255
/** `base/mail/address`: a local part of another server has at most 240 bytes. */
const ADDRESS = 240 + 1 + DOMAIN
/** One of a few words. */
const WORD = 64
/** A hash in hexadecimal or base64. */
const HASH = 64

/** By the name of the column, or by table and column where one name has several meanings. */
const bytes: Readonly<Record<string, number>> = {
  ...Object.fromEntries(
    ['status', 'kind', 'state', 'reason', 'type', 'role', 'scope', 'check_name'].map((name) => [name, WORD]),
  ),
  ...Object.fromEntries(
    ['purpose', 'verdict', 'spam_status', 'provider', 'list', 'result', 'table_name'].map((name) => [name, WORD]),
  ),
  ...Object.fromEntries(
    ['token_hash', 'key_hash', 'code_hash', 'url_key', 'directory_key', 'fingerprint', 'policy'].map((name) => [
      name,
      HASH,
    ]),
  ),
  ...Object.fromEntries(['domain', 'from_domain', 'mx_host', 'receiver', 'reporter'].map((name) => [name, DOMAIN])),
  ...Object.fromEntries(['email', 'email_key', 'address_key', 'target', 'from_key'].map((name) => [name, ADDRESS])),
  ...Object.fromEntries(['hold_rule', 'invited_by', 'unsubscribed_contact'].map((name) => [name, ID])),
  'acme_certificates.name': DOMAIN,
  'acme_names.name': DOMAIN,
  'acme_challenges.token': 256, // `operations/certificates/shared-answers`
  'events.recipient': ADDRESS,
  'link_metrics.url': 2_000, // `storage/schema/metrics`
  'email_metrics.tag': 3 * (256 + 1 + 256), // `outbound/sending/dialect-fields`
  'idempotency.key': 3 * 256, // `outbound/sending/idempotency`
  'cached_files.key': HASH,
  'cached_file_chunks.key': HASH,
  'greylist_entries.key': HASH,
  'service_state.key': WORD,
  'domain_reports.report_id': 3 * 255, // `inbound/receiving/domain-reports/report-values`
  'templates.alias': 64, // `servers/api/content/template-fields`
  'workspaces.slug': 3 * 100, // made from a name of at most 100 characters
  'sms_parts.message_id': 3 * 200, // `workspaces/sms/http/http-style`
  node: DOMAIN, // a host name, or as `base/config` takes it
  phone: WORD,
  prefix: WORD,
  country: WORD,
  local_part: 240,
  selector: DOMAIN,
  'breaker_counts.subject': ADDRESS,
  'breaker_states.subject': ADDRESS,
  'doctor_findings.subject': ADDRESS,
  'warm_ups.subject': ADDRESS,
  source: WORD,
  waits_for: WORD,
  receiving_ip: WORD,
  sending_ip: WORD,
  day: WORD,
}

/** All texts that the expressions of an index may give. */
const expressionBytes: Readonly<Record<string, number>> = {
  contacts_of_address: ID,
  clicks_of_broadcasts: ID + 2_000, // `storage/schema/events`
  domains_label: WORD,
}

interface Column {
  readonly name: string | null
}

t.test('no key can become longer than PostgreSQL takes into an index', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read } = database
  let keys = 0
  for (const table of await tablesOf(read)) {
    const columns = await read<{ name: string; type: string }>('select name, type from pragma_table_info(?)', [table])
    const types = new Map(columns.map(({ name, type }) => [name, type.toLowerCase()]))
    const indexes = await read<{ name: string }>('select name from pragma_index_list(?)', [table])
    for (const { name: index } of indexes) {
      const parts = await read<Column>('select name from pragma_index_info(?)', [index])
      const known = parts.map(({ name }) => {
        if (name === null) return NUMBER
        if (types.get(name) === 'integer') return NUMBER
        return bytes[`${table}.${name}`] ?? bytes[name] ?? (/(?:^|_)id$/.test(name) ? ID : Number.NaN)
      })
      const sum = known.reduce((all, one) => all + one + NUMBER, expressionBytes[index] ?? 0)
      const unknown = parts.filter((_part, at) => Number.isNaN(known[at])).map(({ name }) => `${table}.${name}`)
      t.same(unknown, [], `${index}: the bound of each text is written here`)
      t.ok(unknown.length > 0 || sum <= MOST, `${index} has at most ${sum} bytes`)
      keys += 1
    }
  }
  t.ok(keys > 150, String(keys))
})

t.test('an insert opens no index in memory for the checks of its table', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read } = database
  for (const table of ['recipients', 'queue', 'attempts', 'events']) {
    const steps = await read<{ opcode: string }>(`explain insert into ${table} (workspace_id) values (?)`, ['w'])
    t.same(
      steps.filter(({ opcode }) => opcode === 'OpenEphemeral'),
      [],
      table,
    )
  }
  const lists = await read<{ name: string }>(`select name from sqlite_schema where sql like '%check (% in (%'`, [])
  t.same(lists, [], 'checks compare, where a list would be such an index')
})
