// Knot on loopback as the resolver of both sides: it knows the messages' domains and answers NXDOMAIN for others.
//
// It represents a resolver on the same machine with a warm cache. On port 53, because glibc
// uses no other; at an unused address of loopback.
import { spawn } from 'node:child_process'
import { Resolver } from 'node:dns/promises'
import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const ADDRESS = '127.53.53.53'
const PROGRAM = '/usr/sbin/knotd'

export const dnsMissing = () => (existsSync(PROGRAM) ? null : 'knot is not installed (--install-peers)')

/** `records`: lines of a zone file. */
export async function startDns(folder, records) {
  const home = join(folder, 'knot')
  mkdirSync(home)
  const head = ['$TTL 3600', '. SOA ns.test. root.test. 1 3600 900 86400 3600', '. NS ns.test.', 'ns.test. A 127.0.0.1']
  const client = ['1.0.0.127.in-addr.arpa. PTR client.test.', 'client.test. A 127.0.0.1']
  writeFileSync(join(home, 'root.zone'), `${[...head, ...client, ...records].join('\n')}\n`)
  const file = join(home, 'knot.conf')
  writeFileSync(
    file,
    `server:
    rundir: ${home}
    listen: ${ADDRESS}@53
database:
    storage: ${home}
log:
  - target: stderr
    any: error
zone:
  - domain: .
    storage: ${home}
    file: root.zone
`,
  )
  if (await answers(new Resolver({ timeout: 200, tries: 1 }))) {
    throw new Error(`a DNS server answers at ${ADDRESS} already: perhaps of a measurement that was cut off`)
  }
  const child = spawn(PROGRAM, ['-c', file], { stdio: ['ignore', 'ignore', 'inherit'] })
  await answering(child)
  return {
    address: ADDRESS,
    stop: async () => {
      if (child.exitCode !== null) return
      child.kill()
      await once(child, 'exit')
    },
  }
}

async function answering(child) {
  const resolver = new Resolver({ timeout: 200, tries: 1 })
  for (let attempt = 0; attempt < 100; attempt += 1) {
    if (child.exitCode !== null) break
    if (await answers(resolver)) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error('knot did not start')
}

async function answers(resolver) {
  resolver.setServers([ADDRESS])
  const found = await resolver.resolve4('client.test').catch(() => [])
  return found.length > 0
}
