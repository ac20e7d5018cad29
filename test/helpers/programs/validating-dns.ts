/**
 * Zones of Knot, signed or not, behind Unbound, which validates them: what a mail server with DNSSEC asks.
 *
 * Unbound trusts the keys of the signed zones. For a zone of `bogus` it is told a wrong key, so that it answers SERVFAIL for
 * all names in it; a zone of `unsigned` is insecure.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { temporaryFolder } from '../database/database.js'
import { freeBase } from '../free-port.js'
import { childServer } from './child-server.js'
import { runProgram } from './run-program.js'
import { formatServer } from './unbound.js'

/** Records by zone, as lines of a zone file with absolute names. */
type Zones = Readonly<Record<string, readonly string[]>>

interface DnsZones {
  readonly signed?: Zones
  readonly unsigned?: Zones
  readonly bogus?: Zones
}

/** For `dns.servers`. */
export async function startValidatingDns(
  t: Test,
  { signed = {}, unsigned = {}, bogus = {} }: DnsZones,
): Promise<string> {
  const home = temporaryFolder(t)
  const base = await freeBase([0, 1])
  const secured = { ...signed, ...bogus }
  const all = { ...secured, ...unsigned }
  for (const [zone, records] of Object.entries(all)) {
    const head = ['$TTL 60', `${zone}. SOA ns.${zone}. root.${zone}. 1 60 60 60 1`, `${zone}. NS ns.${zone}.`]
    writeFileSync(join(home, `${zone}.zone`), [...head, `ns.${zone}. A 127.0.0.1`, ...records, ''].join('\n'))
  }
  const config = writeKnotConfig(home, base, Object.keys(all), Object.keys(secured))
  await childServer(t, ['/usr/sbin/knotd', '-c', config], 'server started')
  const anchors = await Promise.all(Object.keys(secured).map((zone) => readAnchor(config, zone, zone in bogus)))
  const file = writeUnboundConfig(home, base, Object.keys(all), anchors)
  await childServer(t, ['/usr/sbin/unbound', '-d', '-c', file], 'start of service')
  return `127.0.0.1:${base + 1}`
}

/** The DS record of the zone's key, or of another key that has the same tag. */
async function readAnchor(config: string, zone: string, isWrong: boolean): Promise<string> {
  const { stdout, stderr } = await runProgram(['/usr/sbin/keymgr', '-c', config, `${zone}.`, 'ds'])
  const anchor = stdout.split('\n').find((line) => / 13 2 /.test(line))
  if (anchor === undefined) throw new Error(`no key of ${zone}: ${stderr}`)
  return isWrong ? anchor.replace(/[0-9a-f]{64}$/, '0'.repeat(64)) : anchor
}

function writeKnotConfig(home: string, port: number, zones: readonly string[], signed: readonly string[]): string {
  const file = join(home, 'knot.conf')
  const signing = `    dnssec-signing: on\n    dnssec-policy: ecdsa\n    journal-content: none\n    zonefile-sync: -1\n`
  const entries = zones.map(
    (zone) => `  - domain: ${zone}\n    file: ${home}/${zone}.zone\n${signed.includes(zone) ? signing : ''}`,
  )
  const settings = `server:
    rundir: ${home}
    listen: 127.0.0.1@${port}
database:
    storage: ${home}
log:
  - target: stdout
    any: info
policy:
  - id: ecdsa
    algorithm: ECDSAP256SHA256
    single-type-signing: on
zone:
${entries.join('')}`
  writeFileSync(file, settings)
  return file
}

function writeUnboundConfig(home: string, base: number, zones: readonly string[], anchors: readonly string[]): string {
  const file = join(home, 'unbound.conf')
  const stubs = zones.map((zone) => `stub-zone:\n  name: "${zone}"\n  stub-addr: 127.0.0.1@${base}\n`)
  const settings = `${formatServer(home, base + 1)}  module-config: "validator iterator"
  local-zone: "test." nodefault
${anchors.map((anchor) => `  trust-anchor: "${anchor}"\n`).join('')}remote-control:
  control-enable: no
${stubs.join('')}`
  writeFileSync(file, settings)
  return file
}
