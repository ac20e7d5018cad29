/** The settings of `[storage]` become hosts with their encryption, and the place of the password. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readConnectionSettings } from '../../../../src/base/storage/postgres/connection-settings.js'
import type { PostgresEnvironment } from '../../../../src/base/storage/postgres/passwords.js'
import { createSelfSigned } from '../../../helpers/certificates.js'

const base = { url: 'postgres://mail@db.test/mail', passwordFile: '', caFile: '', schema: 'posthorn' }
const read = (changes: Partial<typeof base>, environment: PostgresEnvironment = {}) =>
  readConnectionSettings({ ...base, ...changes }, environment)

function tlsOf(url: string, caFile = ''): unknown {
  const [host] = read({ url, caFile }).hosts
  if (host === undefined || host.tls === false) return false
  const { rejectUnauthorized, checkServerIdentity, ca } = host.tls
  const verified = checkServerIdentity === undefined ? 'name' : 'authority'
  const trust = ca === undefined ? '' : ' of the file'
  return rejectUnauthorized === true ? `${verified}${trust}` : 'nothing'
}

t.test('encryption depends on the host, or on sslmode', async (t) => {
  const ca = join(t.testdir({}), 'ca.pem')
  writeFileSync(ca, (await createSelfSigned(['db.test'])).cert)
  t.equal(tlsOf('postgres://db.test/mail'), 'name')
  t.equal(tlsOf('postgres://192.0.2.1/mail'), 'name')
  for (const host of ['localhost', '127.0.0.1', '127.9.9.9', '[::1]', '%2Frun', '']) {
    t.equal(tlsOf(`postgres://${host}/mail`), false, host)
  }
  t.equal(tlsOf('postgres://localhost/mail?sslmode=verify-full'), 'name')
  t.equal(tlsOf('postgres://%2Frun/mail?sslmode=verify-full'), false, 'a socket is never encrypted')
  t.equal(tlsOf('postgres://db.test/mail?sslmode=disable'), false)
  t.equal(tlsOf('postgres://db.test/mail?sslmode=prefer'), 'nothing')
  t.equal(tlsOf('postgres://db.test/mail?sslmode=require'), 'nothing')
  t.equal(tlsOf('postgres://db.test/mail?sslmode=require', ca), 'authority of the file')
  t.equal(tlsOf('postgres://db.test/mail?sslmode=verify-ca'), 'authority')
  t.equal(tlsOf('postgres://db.test/mail', ca), 'name of the file')
  t.equal(tlsOf(`postgres://db.test/mail?sslrootcert=${ca}`), 'name of the file')
  t.equal(tlsOf('postgres://db.test/mail?sslrootcert=system'), 'name')
  t.same(
    read({ url: 'postgres://localhost,db.test/mail?sslmode=prefer' }).hosts.map(({ isTlsOptional }) => isTlsOptional),
    [true, true],
  )
})

t.test('names that are absent', async (t) => {
  t.match(read({ url: 'postgres://db.test' }, { PGUSER: 'post' }), { user: 'post', database: 'post' })
  t.ok(read({ url: 'postgres://db.test' }).user)
})

t.test('faults of the other settings', async (t) => {
  const folder = t.testdir({ 'bad.pem': 'no certificate', empty: '\n' })
  t.throws(() => read({ schema: 'pg_mail' }), { key: 'storage.schema', message: /found "pg_mail"; allowed: small/ })
  t.throws(() => read({ schema: 'a"b' }), { key: 'storage.schema', message: /found "a"b"/ })
  t.throws(() => read({ caFile: '/none.pem' }), { key: 'storage.ca_file', message: /"\/none\.pem".*ENOENT/ })
  t.throws(() => read({ caFile: join(folder, 'bad.pem') }), /it has no certificate/)
  const [missing, empty] = [read({ passwordFile: '/none' }), read({ passwordFile: join(folder, 'empty') })]
  const host = { host: 'db.test', port: 5432 }
  await t.rejects(missing.findPassword(host), { key: 'storage.password_file', message: /"\/none".*ENOENT/ })
  await t.rejects(empty.findPassword(host), { message: /which is empty; allowed: a readable file/ })
})

function passwordOf(
  changes: Partial<typeof base>,
  environment: PostgresEnvironment,
  host = 'db.test',
): Promise<string> {
  return read(changes, environment).findPassword({ host, port: 5432 })
}

function pgpass(t: Test, lines: readonly string[], mode = 0o600): PostgresEnvironment {
  const folder = mkdtempSync(join(tmpdir(), 'pgpass-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, '.pgpass'), lines.join('\n'), { mode })
  return { HOME: folder }
}

t.test('the password comes from the first place that has one', async (t) => {
  const passwordFile = join(t.testdir({ word: 'from file \n' }), 'word')
  const environment = { ...pgpass(t, ['*:*:*:*:from pgpass']), PGPASSWORD: 'from environment' }
  const url = 'postgres://mail:from%20url@db.test/mail'
  t.equal(await passwordOf({ url, passwordFile: '' }, environment), 'from url')
  t.equal(await passwordOf({}, environment), 'from environment')
  t.equal(await passwordOf({}, { ...environment, PGPASSWORD: '' }), 'from pgpass')
  t.equal(await passwordOf({ url, passwordFile }, environment).catch(String), 'from file ')
})

t.test('the password file of PostgreSQL', async (t) => {
  const lines = [
    '#db.test:5432:mail:mail:comment',
    'other.test:*:*:*:other',
    'db.test:5433:mail:mail:other port',
    String.raw`na\\me\:x:*:*:*:escaped\:\\`,
    'db.test:5432:mail:mail:with:colons',
    'localhost:*:*:*:local',
    'short:line',
  ]
  const environment = pgpass(t, lines)
  t.equal(await passwordOf({}, environment), 'with:colons')
  t.equal(await passwordOf({}, environment, 'na\\me:x'), 'escaped:\\')
  t.equal(await passwordOf({}, environment, '/var/run/postgresql'), 'local', 'the socket in its usual place')
  await t.rejects(passwordOf({}, environment, 'short'), /none is set \(.*\.pgpass: no line fits\): name a file/)
  await t.rejects(passwordOf({}, environment, '/run/elsewhere'), /no line fits/)
  await t.rejects(passwordOf({}, pgpass(t, lines, 0o644)), /others may read it, so it is not used: chmod 600/)
  await t.rejects(passwordOf({}, { HOME: '/none' }), /\/none\/\.pgpass: ENOENT/)
  await t.rejects(passwordOf({}, { PGPASSFILE: '/' }), /\/: no file/)
})
