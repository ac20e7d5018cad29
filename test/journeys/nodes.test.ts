/**
 * Several daemons on one database of PostgreSQL: what an operator sees when nodes fail, freeze, drain and are upgraded.
 *
 * Runs alone: its processes share a server.
 */
import { spawn } from 'node:child_process'
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { Agent, request } from 'undici'
import { PostgresServers } from '../../src/base/storage/postgres/connect.js'
import { temporaryFolder } from '../helpers/database/database.js'
import { settingsOf, stopServer, temporaryPostgres } from '../helpers/database/postgres-database.js'
import { plainNode } from '../helpers/programs/plain-node.js'
import { withoutPostgres } from '../helpers/programs/postgres.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../helpers/wait-until.js'
import {
  configure,
  type Daemon,
  type Installation,
  runCommand,
  runForJson,
  serve,
  waitForExit,
} from './support/program.js'
import { emailIdOf, openSession, submit } from './support/submit.js'

t.teardown(stopServer)
t.jobs = 3

const skip = withoutPostgres
const anyCertificate = new Agent({ connect: { rejectUnauthorized: false } })

/** Nodes on one database, with the domain `sender.test`. Mail for `sink.test` comes to the sink. */
class Cluster {
  private constructor(
    private readonly t: Test,
    readonly url: string,
    readonly sink: Awaited<ReturnType<typeof openSink>>,
    private readonly trusted: string,
  ) {}

  static async open(t: Test): Promise<Cluster> {
    const sink = await openSink({ script: {} })
    t.teardown(() => sink.close())
    const url = await temporaryPostgres(t)
    const first = new Cluster(t, url, sink, '').install('first')
    const owner = await runForJson(first, 'setup', '--workspace', 'Nodes', '--email', 'owner@sender.test')
    await runForJson(first, 'domain', 'add', 'sender.test', '--inbound', '--force')
    const trusted = `[[submission.trusted]]\nnetwork = "127.0.0.0/8"\nworkspace = "${String(owner['workspace_id'])}"`
    return new Cluster(t, url, sink, trusted)
  }

  install(name: string): Installation {
    const folder = temporaryFolder(this.t)
    const made = { folder, dataDir: join(folder, 'data'), file: join(folder, 'posthorn.toml') }
    const storage = `[storage]\nurl = ${JSON.stringify(this.url)}\n[node]\nname = "${name}"`
    configure(made, this.sink.port, `${storage}\n${this.trusted}`)
    return made
  }

  /** The mail that has arrived, by recipient. */
  countArrived(to: string): number {
    return this.sink.messages.filter(({ rcptTo }) => rcptTo[0]?.startsWith(`<${to}>`)).length
  }

  async run(sql: string): Promise<void> {
    const connection = await new PostgresServers(settingsOf(this.url)).connect()
    await connection.run([{ sql, parameters: [] }])
    await connection.close()
  }

  /** As if the node had been silent for so long. */
  ageBeat(name: string): Promise<void> {
    return this.run(`update fence set beat = now() - interval '31 seconds' where node = '${name}'`)
  }
}

async function send({ port }: Daemon, to: string): Promise<string> {
  const session = await openSession(port)
  const reply = await submit(session, to)
  session.end()
  return reply
}

async function readiness({ apiPort }: Daemon): Promise<number> {
  const answer = await request(`https://127.0.0.1:${apiPort}/readyz`, { dispatcher: anyCertificate })
  await answer.body.dump()
  return answer.statusCode
}

const nodesOf = async (where: Installation) =>
  (await runForJson(where, 'node', 'list'))['data'] as readonly {
    readonly name: string
    readonly state: string
    readonly entries: number
    readonly adopted_by: string | null
  }[]

t.test('each node delivers what it accepts, and a dead one is adopted', { skip }, async (t) => {
  const cluster = await Cluster.open(t)
  const [at, other] = [cluster.install('one'), cluster.install('two')]
  const [one, two] = [await serve(t, at), await serve(t, other)]
  emailIdOf(await send(one, 'first@sink.test'))
  emailIdOf(await send(two, 'second@sink.test'))
  await waitUntil('both have arrived', () =>
    ['first@sink.test', 'second@sink.test'].every((to) => cluster.countArrived(to) === 1),
  )
  await runForJson(at, 'queue', 'rules', 'add', '--domain', 'sink.test')
  emailIdOf(await send(one, 'held@sink.test'))
  t.match(await nodesOf(at), [
    { name: 'one', state: 'working', entries: 1 },
    { name: 'two', state: 'working', entries: 0 },
  ])
  one.signal('SIGKILL')
  await one.ended
  await cluster.ageBeat('one')
  await waitUntil('it is adopted', async () => (await nodesOf(at))[0]?.adopted_by === 'two')
  const rules = (await runForJson(other, 'queue', 'rules', 'list'))['data'] as readonly { readonly id: string }[]
  await runForJson(other, 'queue', 'rules', 'remove', rules[0]?.id ?? '')
  await waitUntil('the other node sends it', () => cluster.countArrived('held@sink.test') === 1)
  const again = await serve(t, at)
  emailIdOf(await send(again, 'back@sink.test'))
  await waitUntil('it works again', () => cluster.countArrived('back@sink.test') === 1)
  t.equal((await nodesOf(at))[0]?.adopted_by, null)
  t.same(
    ['first', 'second', 'held', 'back'].map((name) => cluster.countArrived(`${name}@sink.test`)),
    [1, 1, 1, 1],
  )
})

t.test('a node that was only slow writes nothing, says who has adopted it, and joins again', { skip }, async (t) => {
  const cluster = await Cluster.open(t)
  const one = await serve(t, cluster.install('one'))
  const other = cluster.install('two')
  await serve(t, other)
  one.signal('SIGSTOP')
  await cluster.ageBeat('one')
  await waitUntil('it is adopted', async () => (await nodesOf(other))[0]?.adopted_by === 'two')
  one.signal('SIGCONT')
  const lost = await one.waitForLog(({ msg }) => /lease of this node is lost/.test(String(msg)))
  t.match(JSON.stringify(lost), /node one was silent, and two has adopted it at 20/)
  await waitUntil('it serves again', () => one.log.filter(({ msg }) => msg === 'serving').length === 2)
  t.match(await nodesOf(other), [{ name: 'one', state: 'working', adopted_by: null }, { name: 'two' }])
})

t.test('a key that one node has revoked is refused by the other at once', { skip }, async (t) => {
  const cluster = await Cluster.open(t)
  const at = cluster.install('one')
  const [one, two] = [await serve(t, at), await serve(t, cluster.install('two'))]
  const ask = async ({ apiPort }: Daemon, key: string, method: 'GET' | 'DELETE', path: string): Promise<number> => {
    const headers = { authorization: `Bearer ${key}` }
    const options = { dispatcher: anyCertificate, method, headers }
    const answer = await request(`https://127.0.0.1:${apiPort}${path}`, options)
    await answer.body.dump()
    return answer.statusCode
  }
  const create = async (name: string) => runForJson(at, 'key', 'create', '--name', name)
  const [revoking, revoked] = [await create('revokes'), await create('revoked')]
  const key = String(revoked['key'])
  t.equal(await ask(two, key, 'GET', '/v1/emails'), 200)
  t.equal(await ask(one, String(revoking['key']), 'DELETE', `/v1/api-keys/${String(revoked['id'])}`), 200)
  t.equal(await ask(two, key, 'GET', '/v1/emails'), 401)
})

t.test('a second daemon of a name ends, and says why', { skip }, async (t) => {
  const cluster = await Cluster.open(t)
  await serve(t, cluster.install('one'))
  const { status, stderr } = await runCommand(cluster.install('one'), 'serve')
  t.equal(status, 1)
  t.match(stderr, /node\.name: another living daemon of this name works on the database/)
})

t.test('a node that drains takes no new mail, gives its entries away, and may be stopped', { skip }, async (t) => {
  const cluster = await Cluster.open(t)
  const [at, other] = [cluster.install('one'), cluster.install('two')]
  const one = await serve(t, at)
  t.match(await runCommand(at, 'node', 'drain', 'one'), { status: 1, stderr: /no other node works/ })
  const two = await serve(t, other)
  await runForJson(at, 'queue', 'rules', 'add', '--domain', 'sink.test')
  emailIdOf(await send(one, 'held@sink.test'))
  const drained = await runCommand(other, 'node', 'drain', 'one', '--json')
  t.match(drained, { status: 0 }, drained.stderr)
  t.same(JSON.parse(drained.stdout), { name: 'one', state: 'drained', entries: 0 })
  t.match(await nodesOf(at), [{ state: 'drained', entries: 0, adopted_by: 'two' }, { entries: 1 }])
  t.equal(await readiness(one), 503)
  t.equal(await readiness(two), 200)
  const session = await openSession(one.port)
  t.match(await session.sendCommand('MAIL FROM:<app@sender.test>'), /^451 4\.3\.2 /)
  session.end()
  const mx = await openSession(one.mxPort)
  t.match(await mx.sendCommand('MAIL FROM:<stranger@elsewhere.test>'), /^451 4\.3\.2 /)
  mx.end()
  t.match(await runCommand(other, 'node', 'remove', 'one'), { status: 1, stderr: /node one lives/ })
  one.signal('SIGTERM')
  t.equal(await one.ended, 0)
  t.match(await runCommand(other, 'node', 'remove', 'one'), { status: 0 })
  t.match(await nodesOf(at), [{ name: 'two' }])
})

/** A copy of this build, as the next version would be. */
function buildNext(t: Test, ...migration: readonly [name: string, statement: string]): string {
  const root = fileURLToPath(new URL('../../../', import.meta.url))
  const folder = temporaryFolder(t)
  cpSync(join(root, 'dist/src'), join(folder, 'dist/src'), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const about = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<string, unknown>
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...about, version: '99.0.0' }))
  const file = join(folder, 'dist/src/base/storage/db/migrations.js')
  const [name, statement] = migration
  const text = readFileSync(file, 'utf8').replace(
    /'0001-baseline': schema,?/,
    `'0001-baseline': schema, ${JSON.stringify(name)}: [${JSON.stringify(statement)}],`,
  )
  writeFileSync(file, text)
  return join(folder, 'dist/src/main.js')
}

t.test('nodes are upgraded one after the other', { skip }, async (t) => {
  const cluster = await Cluster.open(t)
  const program = buildNext(t, '0002-expand-notes', `alter table queue add column note text not null default ''`)
  const [at, other] = [cluster.install('one'), cluster.install('two')]
  const old = await serve(t, at)
  const next = await serve(t, other, { program })
  emailIdOf(await send(old, 'old@sink.test'))
  emailIdOf(await send(next, 'next@sink.test'))
  old.signal('SIGTERM')
  t.equal(await old.ended, 0)
  const again = await serve(t, at)
  emailIdOf(await send(again, 'again@sink.test'))
  await waitUntil('all have arrived', () =>
    ['old', 'next', 'again'].every((name) => cluster.countArrived(`${name}@sink.test`) === 1),
  )
  t.match((await runForJson(other, 'node', 'list'))['data'], [{ name: 'one' }, { name: 'two', version: '99.0.0' }])
})

t.test('a change that nodes cannot share is refused while another version works', { skip }, async (t) => {
  const cluster = await Cluster.open(t)
  const program = buildNext(t, '0002-notes', 'create table notes (id text primary key) strict')
  await serve(t, cluster.install('one'))
  const child = spawn('env', plainNode(program, 'serve', '--config', cluster.install('two').file))
  const { status, stderr } = await waitForExit(child)
  t.equal(status, 1)
  t.match(stderr, /^posthorn: the migration 0002-notes needs all other nodes to be stopped: one \(\d.*$/m)
})
