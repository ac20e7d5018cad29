import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { z } from 'zod'
import type { Config, Machine } from '../../../src/base/config/complete.js'
import { parseConfig } from '../../../src/base/config/load.js'
import { formatProblems } from '../../../src/base/config/problems.js'
import { plan, settings } from '../../../src/base/config/schema.js'
import { skipWithout } from '../../helpers/programs/skip-without.js'

const run = promisify(execFile)
const machine: Machine = { hostname: 'mx.test', home: '/root', isRoot: true, stateHome: undefined }

function config(toml: string): Config {
  const loaded = parseConfig(toml, '/etc/posthorn/posthorn.toml', machine)
  if (loaded.kind === 'config') return loaded.config
  throw new Error(formatProblems(loaded.file, loaded.problems))
}

/** The keys of a section within a section. */
function partsOf(schema: z.core.$ZodType): readonly string[] {
  const inner = schema instanceof z.ZodPrefault ? schema.unwrap() : schema
  return inner instanceof z.ZodObject ? Object.keys(inner.shape) : []
}

t.test('config/posthorn.toml', async (t) => {
  const shipped = readFileSync('config/posthorn.toml', 'utf8')
  const section = (name: string) => shipped.split(/^(?=\[\w)/m).find((part) => part.startsWith(`[${name}]`)) ?? ''

  t.test('holds exactly the defaults', async (t) => {
    t.same(config(shipped), config(''))
  })

  t.test('mentions every setting in its section', async (t) => {
    for (const [name, schema] of Object.entries(settings.shape)) {
      for (const [key, value] of Object.entries(schema.unwrap().shape)) {
        const parts = partsOf(value)
        for (const part of parts) t.match(section(`${name}.${key}`), new RegExp(`^${part} = `, 'm'), `${name}.${key}`)
        const written = `${key} = |\\[\\[${name}\\.${key}\\]\\]|\\[${name}\\.${key}\\.\\w+\\]`
        if (parts.length === 0) t.match(section(name), new RegExp(`^(# )?(${written})`, 'm'), `[${name}] ${key}`)
      }
    }
    for (const key of Object.keys(plan.shape)) {
      t.match(section('limits'), new RegExp(`^# ${key} = `, 'm'), `limits.plans.NAME.${key}`)
    }
  })

  t.test('has valid examples in its comments', async (t) => {
    const uncommented = shipped.replace(/^routes = \{\}\n/m, '').replace(/^# (?=[a-z_]+ = |\[)/gm, '')
    const { service, submission, inbound, outbound, limits } = config(uncommented)
    t.match(service, { hostname: 'mail.example.net', data_dir: '/var/lib/posthorn', mail_from: /@mail\.example\.net$/ })
    t.equal(submission.trusted.length, 1)
    t.match(inbound, { refuse_listed_from: 5, dnsbl: [{ zone: 'dnsbl.example.net', weight: 2 }] })
    t.same(Object.keys(outbound.routes), ['example.org', '*'])
    t.same(Object.keys(limits.plans['bulk'] ?? {}).sort(), Object.keys(plan.shape).sort())
  })
})

t.test('config/production.toml keeps the state where the unit expects it, and opens the usual ports', async (t) => {
  const { service, api, submission, inbound } = config(readFileSync('config/production.toml', 'utf8'))
  const stateDirectory = /^StateDirectory=(.+)$/m.exec(readFileSync('systemd/posthorn.service', 'utf8'))?.[1]
  t.equal(service.data_dir, `/var/lib/${stateDirectory}`)
  t.same(api.listen, [{ kind: 'tls', host: '0.0.0.0', port: 8443 }])
  t.same(submission.listen, [{ host: '0.0.0.0', port: 587 }])
  t.same(submission.listen_tls, [{ host: '0.0.0.0', port: 465 }])
  t.same(inbound.listen, [{ host: '0.0.0.0', port: 25 }])
})

t.test('systemd accepts the unit', { skip: skipWithout('systemd-analyze') }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'posthorn-unit-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const unit = join(folder, 'posthorn.service')
  const verify = async (text: string) => {
    writeFileSync(unit, text)
    return run('systemd-analyze', ['verify', '--man=no', unit])
  }
  // The program need not be installed on the machine that runs the tests.
  const shipped = readFileSync('systemd/posthorn.service', 'utf8').replaceAll('=/usr/bin/posthorn', '=/bin/true')
  t.match(await verify(shipped), { stdout: '', stderr: '' })
  t.match(await verify(`${shipped}\n[Service]\nStateDirectoryy=x\n`), { stderr: /StateDirectoryy/ }, 'it does look')
})

t.test(
  'the units leave little to a process that was taken over',
  { skip: skipWithout('systemd-analyze') },
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'posthorn-unit-'))
    t.teardown(() => rmSync(folder, { recursive: true }))
    // The threshold is in tenths: an exposure of 2.0 and more fails.
    const judge = (unit: string) => run('systemd-analyze', ['security', '--offline=true', '--threshold=19', unit])
    for (const name of ['posthorn.service', 'posthorn-backup.service', 'posthorn-sendmail.service']) {
      await t.resolves(judge(join('systemd', name)), name)
    }
    const weaker = join(folder, 'posthorn.service')
    const shipped = readFileSync('systemd/posthorn.service', 'utf8')
    writeFileSync(weaker, shipped.replace(/^(?:ProtectSystem|CapabilityBoundingSet|SystemCallFilter)=.*\n/gm, ''))
    await t.rejects(judge(weaker), 'it does look')
  },
)

t.test("the backup is made by the daemon's user, from its configuration, to a folder of its own", async (t) => {
  const backup = readFileSync('systemd/posthorn-backup.service', 'utf8')
  const daemon = readFileSync('systemd/posthorn.service', 'utf8')
  const read = (unit: string, key: string) => new RegExp(`^${key}=(.*)$`, 'm').exec(unit)?.[1]
  t.equal(read(backup, 'User'), read(daemon, 'User'))
  t.match(readFileSync('systemd/sysusers.conf', 'utf8'), new RegExp(`^u ${read(daemon, 'User')} - `, 'm'))
  const folder = `/var/lib/${read(backup, 'StateDirectory')}`
  t.match(read(backup, 'ExecStart'), new RegExp(` backup --keep \\d+ ${folder} `))
  const configuration = / --config (\S+)$/.exec(read(daemon, 'ExecStart') ?? '')?.[1] ?? 'none'
  t.ok(read(backup, 'ExecStart')?.endsWith(` --config ${configuration}`), configuration)
})

const isGlibc = 'glibcVersionRuntime' in (process.report.getReport() as { header: object }).header

t.test('the environment of the unit lets memory return to the system', { skip: !isGlibc && 'not glibc' }, async (t) => {
  const unit = readFileSync('systemd/posthorn.service', 'utf8')
  const lines = [...unit.matchAll(/^Environment=(.+)$/gm)].map(([, words = '']) => words)
  const env = Object.fromEntries(
    lines.flatMap((words) => [...words.matchAll(/(\w+)=(\S+)/g)].map(([, name, value]) => [name, value])),
  )
  // Freeing the first block makes glibc keep smaller ones by default; the last one is above them in the heap.
  const script = `
    import { freeMemory } from ${JSON.stringify(new URL('../../../src/base/platform/memory/free-memory.js', import.meta.url))}
    const MB = 1_048_576
    const pause = () => new Promise((resolve) => setTimeout(resolve, 200))
    freeMemory(Buffer.alloc(24 * MB, 1))
    await pause()
    const before = process.memoryUsage.rss()
    const blocks = Array.from({ length: 8 }, () => Buffer.alloc(8 * MB, 1))
    const last = Buffer.alloc(100_000, 1)
    freeMemory(...blocks)
    await pause()
    console.log((process.memoryUsage.rss() - before) / MB, last.length)
  `
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script], { env })
  t.ok(Number(stdout.split(' ')[0]) < 16, stdout)
})

const notRoot = process.getuid?.() !== 0 && 'not root'

t.test('the certbot hook copies only the certificate that it was first run for', { skip: notRoot }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'posthorn-test-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const target = join(folder, 'tls')
  const lineage = (name: string, content: string): string => {
    mkdirSync(join(folder, name), { recursive: true })
    for (const file of ['fullchain.pem', 'privkey.pem']) writeFileSync(join(folder, name, file), content)
    return join(folder, name)
  }
  const hook = (renewed: string): Promise<{ readonly stdout: string }> =>
    run('systemd/certbot-deploy-hook', {
      env: { ...process.env, RENEWED_LINEAGE: renewed, POSTHORN_TLS: target, POSTHORN_GROUP: 'root' },
    })
  const copied = (): string[] =>
    ['fullchain.pem', 'privkey.pem'].map((file) => readFileSync(join(target, file), 'utf8'))

  await t.rejects(hook(join(folder, 'mistyped')))
  await hook(lineage('mail', 'first'))
  t.same(copied(), ['first', 'first'])
  t.equal(statSync(join(target, 'privkey.pem')).mode & 0o777, 0o640)
  t.match((await hook(lineage('www', 'other'))).stdout, /www is left alone; to use it, remove .*lineage/)
  t.same(copied(), ['first', 'first'])
  await hook(lineage('mail', 'renewed'))
  t.same(copied(), ['renewed', 'renewed'])
})

t.test('the files of config/container keep the state in the volume, and open ports that need no right', async (t) => {
  for (const file of ['posthorn.toml', 'posthorn-postgres.toml']) {
    const shipped = readFileSync(`config/container/${file}`, 'utf8')
    for (const written of [shipped, shipped.replace(/^# (?=[a-z_]+ = )/gm, '')]) {
      const { service, api, submission, inbound, tls } = config(written)
      t.equal(service.data_dir, '/var/lib/posthorn')
      const listeners = [api.listen, submission.listen, submission.listen_tls, inbound.listen, tls.acme.http_listen]
      const ports = listeners.flat().map((listener) => ('port' in listener ? listener.port : null))
      t.same(ports, [8443, 2587, 2465, 2525, 8080], file)
    }
  }
})
