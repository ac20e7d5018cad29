#!/usr/bin/env node
/**
 * The program that packages run once: writes the first configuration and prints what is left to do.
 *
 *   node main.js --template FILE --output FILE [--hostname NAME] [--docs FOLDER] [--program PATH] [--dry-run]
 *
 * An existing configuration is never changed. Exit status: 0 done or kept, 1 failed, 2 wrong usage.
 */
import { execFile } from 'node:child_process'
import { chmodSync, chownSync, existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { hostname as nameOfHost, networkInterfaces } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import type { Config } from '../../base/config/complete.js'
import { systemClock } from '../../base/platform/clock.js'
import { openResolver } from '../../base/platform/dns/resolver.js'
import { errorCodeOf, errorMessageOf } from '../../base/platform/errors.js'
import { chooseHostname } from './choose-hostname.js'
import { type FirstSettings, renderConfiguration } from './first-configuration.js'
import { type MachineNames, readMachineNames, toInternetName } from './machine-names.js'
import { formatNextSteps, portsOf, tlsListenersOf } from './next-steps.js'

/** Milliseconds for all questions together. */
const MAX_DNS_TIME = 10_000
/** Milliseconds for `hostname -f`, which asks DNS. */
const MAX_HOSTNAME_TIME = 5_000

interface Options {
  readonly template: string
  readonly output: string
  readonly hostname: string | null
  readonly docs: string
  readonly program: string
  readonly dryRun: boolean
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

function parseOptions(): Options {
  const text = { type: 'string' } as const
  const { values } = parseArgs({
    options: {
      template: text,
      output: text,
      hostname: text,
      docs: text,
      program: text,
      'dry-run': { type: 'boolean' },
    },
  })
  const { template, output, hostname, docs = 'docs', program = 'posthorn' } = values
  if (template === undefined || output === undefined) throw new Error('--template and --output are needed')
  if (hostname !== undefined && toInternetName(hostname) === null) {
    throw new Error(`--hostname: found "${hostname}", allowed: a host name with its domain, as mail.example.net`)
  }
  const named = hostname === undefined ? null : toInternetName(hostname)
  return { template, output, hostname: named, docs, program, dryRun: values['dry-run'] === true }
}

/** The name with its domain, as the system knows it; the short one if it knows no more. */
async function readHostname(): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)('hostname', ['-f'], { timeout: MAX_HOSTNAME_TIME })
    return stdout.trim()
  } catch {
    return nameOfHost()
  }
}

async function readNames(): Promise<MachineNames> {
  const signal = AbortSignal.timeout(MAX_DNS_TIME)
  const settings = { servers: [], timeout: 1500, tries: 2, cacheSize: 100 }
  const interfaces = Object.values(networkInterfaces()).flatMap((found) => found ?? [])
  const resolver = openResolver(settings, systemClock, signal)
  return readMachineNames({ hostname: await readHostname(), interfaces, resolver })
}

/** Whether another program listens at the port on all addresses. A port that we may not open counts as free. */
function isPortInUse(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error) => resolve(errorCodeOf(error) === 'EADDRINUSE'))
    server.listen({ port, host: '0.0.0.0', exclusive: true }, () => server.close(() => resolve(false)))
  })
}

async function findPortsInUse(config: Config): Promise<readonly number[]> {
  const { submission, inbound } = config
  const ports = portsOf([...inbound.listen, ...submission.listen, ...submission.listen_tls, ...tlsListenersOf(config)])
  const used = await Promise.all(ports.map(isPortInUse))
  return ports.filter((_, at) => used[at])
}

/**
 * A file that is there in part would be kept by the next run, and read by the daemon. Written as root, it is readable by
 * the group of its folder, which is the daemon's.
 */
function writeWhole(file: string, text: string): void {
  const unfinished = `${file}.new`
  try {
    rmSync(unfinished, { force: true })
    writeFileSync(unfinished, text, { flag: 'wx', mode: 0o640, flush: true })
    if (process.getuid?.() === 0) chownSync(unfinished, 0, statSync(dirname(file)).gid)
    chmodSync(unfinished, 0o640)
    renameSync(unfinished, file)
  } finally {
    rmSync(unfinished, { force: true })
  }
}

async function writeFirst({ template, output, hostname, docs, program, dryRun }: Options): Promise<void> {
  const names = await readNames()
  const chosen = hostname === null ? chooseHostname(names) : { name: hostname, reason: 'as asked for' }
  const settings: FirstSettings = {
    hostname: chosen?.name ?? null,
    publicAddresses: names.addresses.map(({ address }) => address),
    hasIpv6: names.hasIpv6,
    docs,
    reference: join(dirname(template), 'posthorn.toml'),
  }
  const machine = { hostname: chosen?.name ?? nameOfHost(), home: '/root', isRoot: true, stateHome: undefined }
  const { text, config } = renderConfiguration(readFileSync(template, 'utf8'), settings, output, machine)
  if (!dryRun) writeWhole(output, text)
  print(`${dryRun ? 'would create' : 'created'} ${output}`)
  print(chosen === null ? '  no host name: none was found' : `  hostname ${chosen.name}: ${chosen.reason}`)
  for (const { address } of names.addresses) {
    print(`  public address ${address}${names.behindNat ? ': that of the host name, no interface has one' : ''}`)
  }
  print('')
  const portsInUse = await findPortsInUse(config)
  const installed = { file: output, config, names, hostname: chosen?.name ?? null, portsInUse, docs, program }
  for (const line of formatNextSteps(installed)) print(line)
}

async function main(): Promise<number> {
  let options: Options
  try {
    options = parseOptions()
  } catch (error) {
    process.stderr.write(`posthorn: ${errorMessageOf(error)}\n`)
    return 2
  }
  if (existsSync(options.output)) {
    print(`kept ${options.output}`)
    return 0
  }
  try {
    await writeFirst(options)
    return 0
  } catch (error) {
    process.stderr.write(`posthorn: the first configuration could not be written: ${errorMessageOf(error)}\n`)
    return 1
  }
}

process.exitCode = await main()
