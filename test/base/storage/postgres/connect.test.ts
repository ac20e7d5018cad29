/** Connections are opened to the server that takes writes, with its certificate verified and its password. */
import { appendFileSync, chownSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type ConnectionLimits, NoServer, PostgresServers } from '../../../../src/base/storage/postgres/connect.js'
import { readConnectionSettings } from '../../../../src/base/storage/postgres/connection-settings.js'
import type { PipelinedConnection } from '../../../../src/base/storage/postgres/pipelined-connection.js'
import { createSelfSigned } from '../../../helpers/certificates.js'
import { freePort } from '../../../helpers/free-port.js'
import { PostgresServer, withoutPostgres } from '../../../helpers/programs/postgres.js'
import { waitUntil } from '../../../helpers/wait-until.js'

const [folder, other] = [mkdtempSync(join(tmpdir(), 'connect-')), mkdtempSync(join(tmpdir(), 'standby-'))]
const server = withoutPostgres ? null : await PostgresServer.start({ folder })
t.teardown(async () => {
  await server?.stop('immediate')
  for (const path of [folder, other]) rmSync(path, { recursive: true, force: true })
})

const port = server?.port ?? 0
const superUrl = `postgres://postgres@127.0.0.1:${port}/postgres`

interface Wanted {
  readonly passwordFile?: string
  readonly caFile?: string
  readonly schema?: string
  readonly limits?: Partial<ConnectionLimits>
}

function serversOf(url: string, { passwordFile = '', caFile = '', schema = 'posthorn' }: Wanted = {}): PostgresServers {
  return new PostgresServers(readConnectionSettings({ url, passwordFile, caFile, schema }, { HOME: '/none' }))
}

async function connect(t: Test, url: string, wanted: Wanted = {}): Promise<PipelinedConnection> {
  const connection = await serversOf(url, wanted).connect(wanted.limits)
  t.teardown(() => connection.close())
  return connection
}

async function readOne(connection: PipelinedConnection, sql: string): Promise<unknown> {
  const [result] = await connection.run([{ sql, parameters: [] }])
  return Object.values(result?.rows[0] ?? {})[0]
}

/** The server gets a certificate for `localhost`, and a role that needs a password. */
async function protect(t: Test): Promise<string> {
  const data = join(folder, 'data')
  const { cert, key } = await createSelfSigned(['localhost'])
  const { uid, gid } = statSync(data)
  for (const [name, text] of Object.entries({ 'server.crt': cert, 'server.key': key })) {
    writeFileSync(join(data, name), text, { mode: 0o600 })
    chownSync(join(data, name), uid, gid)
  }
  const rules = readFileSync(join(data, 'pg_hba.conf'), 'utf8')
  writeFileSync(
    join(data, 'pg_hba.conf'),
    `hostssl all sealed 127.0.0.1/32 trust\nhost all sealed 127.0.0.1/32 reject\nhost all mail 127.0.0.1/32 scram-sha-256\nlocal all mail scram-sha-256\n${rules}`,
  )
  const connection = await connect(t, superUrl)
  await connection.run([{ sql: `create role mail login password 'se cret'`, parameters: [] }])
  await connection.run([{ sql: 'alter system set ssl = on', parameters: [] }])
  await connection.run([{ sql: 'select pg_reload_conf(), pg_sleep(0.3)', parameters: [] }])
  const caFile = join(folder, 'ca.pem')
  writeFileSync(caFile, cert)
  return caFile
}

t.test('the session', { skip: withoutPostgres }, async (t) => {
  const limits = { statement: 1_234, lock: 2_345, idleInTransaction: 3_456 }
  const connection = await connect(t, superUrl, { schema: 'mail_2', limits })
  const settings = ['search_path', 'statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout']
  const values = await Promise.all(
    [...settings, 'timezone', 'application_name', 'jit'].map((name) => readOne(connection, `show ${name}`)),
  )
  t.same(values, ['"mail_2"', '1234ms', '2345ms', '3456ms', 'UTC', 'posthorn', 'off'])
  t.equal(await readOne(await connect(t, `postgres://postgres@/postgres?host=${folder}&port=${port}`), 'select 1'), 1)
})

t.test('passwords and certificates', { skip: withoutPostgres }, async (t) => {
  const caFile = await protect(t)
  const passwordFile = join(folder, 'password')
  writeFileSync(passwordFile, 'se cret\n')
  const encrypted = 'select ssl::text from pg_stat_ssl where pid = pg_backend_pid()'
  const at = (host: string, mode: string) => `postgres://mail@${host}:${port}/postgres?sslmode=${mode}`

  const verified = await connect(t, at('localhost', 'verify-full'), { caFile, passwordFile })
  t.equal(await readOne(verified, encrypted), 'true')
  const named = await connect(t, at('127.0.0.1', 'verify-ca'), { caFile, passwordFile })
  t.equal(await readOne(named, encrypted), 'true', 'another name, which verify-ca allows')
  t.equal(await readOne(await connect(t, at('127.0.0.1', 'require'), { passwordFile }), encrypted), 'true')
  t.equal(await readOne(await connect(t, at('127.0.0.1', 'prefer'), { passwordFile }), encrypted), 'true')
  t.equal(await readOne(await connect(t, at('127.0.0.1', 'disable'), { passwordFile }), encrypted), 'false')
  const plain = `postgres://mail:se%20cret@127.0.0.1:${port}/postgres`
  t.equal(await readOne(await connect(t, plain), encrypted), 'false', 'loopback')

  const refuse = (url: string, wanted: Wanted, message: RegExp) =>
    t.rejects(serversOf(url, wanted).connect(), { name: 'NoServer', message }, String(message))
  await refuse(
    at('127.0.0.1', 'verify-full'),
    { caFile, passwordFile },
    /127\.0\.0\.1:\d+ says: .*ALTNAME.*: use a name of/,
  )
  await refuse(
    at('localhost', 'verify-full'),
    { passwordFile },
    /self-signed certificate.*name its certificate in storage\.ca_file/,
  )
  const otherFile = join(folder, 'other.pem')
  writeFileSync(otherFile, (await createSelfSigned(['localhost'])).cert)
  await refuse(
    at('localhost', 'verify-full'),
    { passwordFile, caFile: otherFile },
    /self-signed certificate.*: its certificate was not issued by what storage\.ca_file names/,
  )
  await refuse(
    `${at('localhost', 'verify-full')}&sslrootcert=${otherFile}`,
    { passwordFile },
    /not issued by what sslrootcert in storage\.url names/,
  )
  await refuse(
    at('127.0.0.1', 'disable').replace('mail@', 'sealed@'),
    {},
    /pg_hba\.conf rejects .*no encryption \(28000\): add \?sslmode=verify-full to storage\.url/,
  )
  await refuse(at('127.0.0.1', 'disable'), {}, /asks for a password, and none is set \(\/none\/\.pgpass: ENOENT\)/)
  await refuse(at('127.0.0.1', 'disable'), { passwordFile: '/none' }, /^storage\.password_file: found "\/none"/)
  await refuse(
    plain.replace('se%20', ''),
    {},
    /password authentication failed for user "mail" \(28P01\): see storage\.password/,
  )
  await refuse(`${superUrl}-none`, {}, /database "postgres-none" does not exist \(3D000\): create the database/)

  appendFileSync(passwordFile, 'wrong')
  t.equal(await readOne(verified, 'select 1'), 1)
})

t.test('a server without encryption', { skip: withoutPostgres }, async (t) => {
  const bare = createServer((socket) => socket.once('data', () => socket.end('N')))
  await new Promise<void>((resolve) => bare.listen(0, '127.0.0.1', resolve))
  t.teardown(() => bare.close())
  const address = bare.address()
  const port = typeof address === 'object' ? address?.port : 0
  const url = `postgres://a@127.0.0.1:${port}/b?sslmode=require`
  await t.rejects(
    serversOf(url).connect(),
    /does not support SSL connections: switch ssl on there, or write sslmode=disable/,
  )
})

t.test('servers that do not answer are left out within a limit', { skip: withoutPostgres }, async (t) => {
  const mute = createServer(() => undefined)
  await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve))
  t.teardown(() => mute.close())
  const address = mute.address()
  const mutePort = typeof address === 'object' ? address?.port : 0
  const hosts = `127.0.0.1:${await freePort()},127.0.0.1:${mutePort}`
  const begin = performance.now()
  const limits = { connect: 200 }
  const connection = await connect(t, `postgres://postgres@${hosts},127.0.0.1:${port}/postgres`, { limits })
  t.equal(await readOne(connection, 'select 1'), 1)
  t.ok(performance.now() - begin < 1_500)
  await t.rejects(serversOf(`postgres://postgres@${hosts}/postgres`).connect(limits), {
    name: 'NoServer',
    code: 'ECONNREFUSED',
    message: /ECONNREFUSED.*: does it run, and listen there\?; 127\.0\.0\.1:\d+ has not answered within 0\.2 s$/,
  })
})

t.test('a standby is left out until it is promoted', { skip: withoutPostgres }, async (t) => {
  if (server === null) return
  const standby = await server.startStandby({ folder: other })
  t.teardown(() => standby.stop('immediate'))
  const url = `postgres://postgres@127.0.0.1:${standby.port},127.0.0.1:${port}/postgres?target_session_attrs=read-write`
  const servers = serversOf(url)
  const first = await servers.connect()
  t.equal(Number(await readOne(first, `select current_setting('port')`)), port)
  await t.rejects(serversOf(standby.urlOf()).connect(), NoServer)
  await t.rejects(serversOf(standby.urlOf()).connect(), /127\.0\.0\.1:\d+ is a standby, which takes no writes$/)

  await readOne(first, `select set_config('x.y', '1', false)`)
  await first.run([{ sql: `alter role postgres set default_transaction_read_only = on`, parameters: [] }])
  await t.rejects(serversOf(superUrl).connect(), /is read-only \(default_transaction_read_only\)/)
  await first.run([{ sql: 'alter role postgres reset default_transaction_read_only', parameters: [] }])
  const follows = 'select replay_lsn >= pg_current_wal_lsn() from pg_stat_replication'
  await waitUntil('the standby knows that', async () => Number(await readOne(first, follows)) === 1)

  await server.stop('immediate')
  t.match(await first.ended, { message: /./ })
  await t.rejects(servers.connect(), /ECONNREFUSED.*; 127\.0\.0\.1:\d+ is a standby/)
  await promote(standby)
  await waitUntil('it takes writes', () =>
    servers.connect().then(
      (one) => one.close().then(() => true),
      () => false,
    ),
  )
  const second = await servers.connect()
  t.teardown(() => second.close())
  t.equal(Number(await readOne(second, `select current_setting('port')`)), standby.port)
})

/** Works as an operator or a program of theirs does. */
async function promote({ port }: PostgresServer): Promise<void> {
  const { Client } = await import('pg')
  const client = new Client({ host: '127.0.0.1', port, user: 'postgres', database: 'postgres' })
  await client.connect()
  await client.query('select pg_promote()')
  await client.end()
}
