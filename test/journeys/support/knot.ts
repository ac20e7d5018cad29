/**
 * Knot as the DNS server of a test: a child of its own on loopback, over UDP and TCP.
 *
 * One zone is the root, so that whatever is not in it does not exist. The domains of `broken`
 * are zones that it cannot load: it answers SERVFAIL for all that is in them.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'
import { temporaryFolder } from '../../helpers/database.js'

export interface Knot {
  /** For `dns.servers`. */
  readonly address: string
}

/** `records` as the lines of a zone file, with absolute names. */
export async function startKnot(t: Test, records: readonly string[], broken: readonly string[] = []): Promise<Knot> {
  const home = temporaryFolder(t)
  const port = await freePort()
  const head = ['$TTL 60', '. SOA ns.test. root.test. 1 60 60 60 60', '. NS ns.test.', 'ns.test. A 127.0.0.1']
  writeFileSync(join(home, 'root.zone'), [...head, ...records, ''].join('\n'))
  const file = join(home, 'knot.conf')
  writeFileSync(file, settings(home, port, broken))
  const child = spawn('/usr/sbin/knotd', ['-c', file], { stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'close')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  await started(child)
  return { address: `127.0.0.1:${port}` }
}

function settings(home: string, port: number, broken: readonly string[]): string {
  const zone = (domain: string, name: string): string => `  - domain: ${domain}\n    file: ${home}/${name}.zone\n`
  return `server:
    rundir: ${home}
    listen: 127.0.0.1@${port}
database:
    storage: ${home}
log:
  - target: stdout
    any: info
zone:
${zone('.', 'root')}${broken.map((domain) => zone(domain, 'missing')).join('')}`
}

/** Of TCP; nobody else here listens on UDP. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

async function started(child: ChildProcess): Promise<void> {
  if (child.stdout === null || child.stderr === null) throw new Error('no output')
  const said: string[] = []
  child.stderr.on('data', (chunk: Buffer) => said.push(chunk.toString()))
  const reader = createInterface(child.stdout)
  const ended = once(child, 'close').then(() => null)
  reader.on('line', (line) => said.push(line))
  while (!said.some((line) => line.includes('server started'))) {
    if ((await Promise.race([once(reader, 'line'), ended])) === null) throw new Error(`Knot ended: ${said.join('\n')}`)
  }
}
