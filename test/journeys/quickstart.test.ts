/** The program behind scripts/quickstart, as its user sees it: a process, its output, its folder. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { openDatabase } from '../../src/base/storage/open.js'
import { configure } from '../../src/operations/sandbox/configuration.js'
import { publishedKeyFinder, verifyDkimSignature } from '../../src/operations/sandbox/dkim-verdict.js'
import { sandboxPaths } from '../../src/operations/sandbox/paths.js'
import { freeBase } from '../helpers/free-port.js'
import { plainNode } from '../helpers/programs/plain-node.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { commandsOf, ExampleIds, pagesWithCommands, readExamples, requestsOf, withPorts } from './support/examples.js'
import { sandboxPorts, startSandbox } from './support/sandbox.js'

const root = mkdtempSync(join(tmpdir(), 'posthorn-quickstart-'))
const data = join(root, 'data folder')
t.teardown(() => rmSync(root, { recursive: true, force: true }))

const shell = promisify(execFile)
const base = await freeBase(sandboxPorts)

async function listenOn(port: number): Promise<{ port: number; close: () => Promise<unknown> } | null> {
  const server = createServer()
  server.listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return null
  }
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('a port is expected')
  return { port: address.port, close: () => once(server.close(), 'close') }
}

/** The file with the lines to paste, which the screen names. */
const readGuide = (): string => readFileSync(join(data, 'quickstart.txt'), 'utf8')
const keptKey = (): string => readFileSync(join(data, 'quickstart-key'), 'utf8').trim()
const listArrivals = (): string[] => readdirSync(join(data, 'sink')).toSorted()
const readArrival = (name: string | undefined): Buffer => readFileSync(join(data, 'sink', name ?? ''))

t.test('a first run sends a message over SMTP and REST, and its lines work as printed', async (t) => {
  const first = startSandbox(t, '--data', data, '--port-base', String(base))
  t.match(await first.line(/^arrived/), /to you@example\.test {2}"It works" {2}DKIM pass \(example\.test\)/)
  await first.line(/^Serving/)
  t.match(first.said(), /\narrived {2}to you@example\.test {2}"REST works" {2}DKIM pass \(example\.test\)/)
  await first.line(/^Serving until Ctrl-C\.$/)
  for (const words of [
    /^delivered {2}what was sent over SMTP .* over TLSv1\.3/m,
    /^delivered .* over REST .* over TLSv1\.3/m,
  ]) {
    t.match(first.said(), words)
  }
  const screen = first.said().split('\n')
  t.ok(screen.length <= 24, `${screen.length} lines`)
  // The folder of a test is longer than that of a clone.
  t.same(
    screen.filter((line) => line.replaceAll(data, './data').length > 100),
    [],
  )
  t.match(first.said(), `\n  ${join(data, 'quickstart.txt')}\n`)
  t.match(first.said(), 'Nothing leaves this machine.')
  const guide = readGuide()
  const [, bySmtp = '', byRest = ''] = guide.split(/^How it got there, from submission over /m)
  for (const [story, words] of [
    [bySmtp, /^SMTP .* delivered\n.*subject {5}It works\n/s] as const,
    [byRest, /^REST .* delivered\n.*subject {5}REST works\n/s] as const,
  ]) {
    t.match(story, words)
    t.match(story, / Attempt 1: delivered\n.* over TLSv1\.3.*\n +delivered: 250 /)
  }
  t.equal(statSync(join(data, 'quickstart.txt')).mode & 0o777, 0o600)
  t.equal(statSync(join(data, 'quickstart-key')).mode & 0o777, 0o600)

  const eml = readArrival(listArrivals()[0]).toString()
  t.match(eml, /^Return-Path: <bounce\+[^>]+@posthorn\.example\.test>\r\nDelivered-To: you@example\.test\r\n/)
  t.match(eml, /\r\nAuthentication-Results: .*; dkim=pass header\.d=example\.test header\.s=dkim1\r\n/)

  const [, origin = '', token = ''] = /^ {2}(https:\S+)\/ui\/set-password#token=(\S+)$/m.exec(first.said()) ?? []
  const asPage = ['--cacert', join(data, 'tls', 'cert.pem'), '-H', 'Sec-Fetch-Site: same-origin']
  const body = [
    '-H',
    'Content-Type: application/json',
    '-d',
    JSON.stringify({ token, password: 'correct horse battery' }),
  ]
  const signedIn = await shell('curl', ['-sS', ...asPage, ...body, `${origin}/ui/api/password-links/confirm`])
  t.match(JSON.parse(signedIn.stdout), { user: { email: 'owner@example.test' }, workspaces: [{ role: 'owner' }] })

  const [explain = ''] = guide.match(/^ {2}\S+\/scripts\/node .* explain .*$/m) ?? []
  t.match((await shell('bash', ['-c', explain])).stdout, /you@example\.test: delivered/)

  await t.test('the swaks lines', { skip: skipWithout('swaks') }, async (t) => {
    const lines = guide.match(/^ {2}swaks .* --auth .*$/gm) ?? []
    t.equal(lines.length, 2)
    for (const [place, line] of lines.entries()) {
      await shell('bash', ['-c', `${line} --h-Subject pasted-${place}`])
      t.match(await first.line(new RegExp(`pasted-${place}`)), /DKIM pass/)
    }
    const [line = ''] = lines
    await shell('bash', ['-c', line.replace('--to you@', '--to bounce@')])
    t.match(await first.line(/could not be delivered/), /to app@example\.test .* DKIM pass \(mail\.example\.test\)/)
  })

  await t.test('the curl line', { skip: skipWithout('curl') }, async (t) => {
    const pattern = /^ {2}curl (?:.*\\\n)+.* -d .*$/gm
    const lines = first.said().match(pattern) ?? []
    t.equal(lines.length, 1)
    t.same(guide.match(pattern), lines)
    const [line = ''] = lines
    t.match(line, `https://127.0.0.1:${base + 443}/v1/emails`)
    const { stdout } = await shell('bash', ['-c', line])
    t.match(JSON.parse(stdout), { id: /^[0-9a-f-]{36}$/, from: 'app@example.test', to: ['you@example.test'] })
    t.match(await first.line(/^arrived .*"Hello"/), /to you@example\.test .* DKIM pass \(example\.test\)/)
    await t.rejects(shell('bash', ['-c', line.replace(/--cacert '[^']*'/, '')]), { code: 60 }, 'it does verify')
  })

  await t.test('the lines for inbound mail and events', { skip: skipWithout('swaks') }, async (t) => {
    const [bring = ''] = guide.match(/^ {2}swaks .*friend@.*$/m) ?? []
    t.match(bring, `127.0.0.1:${base + 26}`)
    await shell('bash', ['-c', bring])
    const [read = ''] = guide.match(/^ {2}curl .*\/v1\/inbound$/m) ?? []
    const { stdout } = await shell('bash', ['-c', read])
    t.match(JSON.parse(stdout), { data: [{ id: String, status: /^(received|processed)$/ }] })
    const [list = ''] = guide.match(/^ {2}curl .*\/v1\/events$/m) ?? []
    const events = JSON.parse((await shell('bash', ['-c', list])).stdout) as { data: { type: string }[] }
    t.ok(events.data.some(({ type }) => type === 'email.delivered'))
  })

  await t.test('the examples of the documents', async (t) => {
    symlinkSync(data, join(root, 'data'))
    writeFileSync(join(root, '.curlrc'), 'fail\n')
    writeFileSync(join(root, 'readers.csv'), 'email,first_name\nann@example.test,Ann\n')
    writeFileSync(join(root, 'spam_reports.csv'), 'email,created\nbob@example.test,1700000000\n')
    writeFileSync(join(root, 'terms.pdf'), '%PDF-1.4\n')
    const env = { ...process.env, CURL_HOME: root, NODE_EXTRA_CA_CERTS: 'data/tls/cert.pem' }
    const pasted = async (...words: readonly string[]): Promise<string> =>
      (await shell('env', [...words], { cwd: root, env })).stdout
    for (const page of pagesWithCommands()) {
      const ids = new ExampleIds()
      for (const text of commandsOf(page)) {
        const [program = ''] = /swaks|curl/.exec(text) ?? []
        await t.test(`${page}: ${text.split('\n', 1)[0]}`, { skip: skipWithout(program) }, async (t) => {
          for (const request of requestsOf(text)) {
            const ready = withPorts(ids.fill(request), base)
            const answer = await pasted('bash', '-c', `key=$(cat data/quickstart-key)\n${ready}`)
            t.not(answer, '')
            ids.note(request, answer)
          }
        })
      }
    }
    await pasted('python3', '-c', withPorts(readExamples('docs/submission.md', 'python')[0] ?? '', base))
    for (const [place, text] of readExamples('README.md', 'js').entries()) {
      // Where the packages are found.
      const file = join('dist', `example-${process.pid}-${place}.mjs`)
      t.teardown(() => rmSync(file))
      writeFileSync(file, withPorts(text, base))
      await pasted(...plainNode(resolve(file)))
    }
    for (const subject of ['Hello from Python', 'Hello from Node.js']) {
      t.match(await first.line(new RegExp(`^arrived .*"${subject}"`)), /DKIM pass/)
    }
  })

  await t.test('a start that is impossible is explained in one line', async (t) => {
    const busy = startSandbox(t, '--data', join(root, 'other'), '--port-base', String(base))
    t.equal(await busy.end(), 1)
    t.match(busy.complained(), new RegExp(`^quickstart: port ${base + 587} on 127\\.0\\.0\\.1 is in use: [^\n]*\n$`))
    const beside = startSandbox(t, '--data', data, '--port-base', String(base + 1))
    t.equal(await beside.end(), 1)
    t.match(beside.complained(), /^quickstart: a running daemon [^\n]*\n$/)
    t.match(readFileSync(join(data, 'posthorn.toml'), 'utf8'), `:${base + 587}`, 'its configuration is left alone')
  })

  t.match(first.said(), keptKey())
  t.equal(await first.end('SIGINT'), 0)
  t.equal(first.complained(), '')
})

t.test('a second run uses the existing data, the key above all', async (t) => {
  const key = keptKey()
  const second = startSandbox(t, '--data', data)
  await second.line(/^Serving/)
  t.equal(keptKey(), key)
  t.match(second.said(), `-H 'Authorization: Bearer ${key}'`)
  t.match(readGuide(), `--auth-password ${key} `)
  t.match(readGuide(), `127.0.0.1:${base + 465} --tls-on-connect`)
  t.equal(await second.end('SIGTERM'), 0)
})

t.test('--port-base changes the ports of an existing configuration, and keeps what its user wrote', async (t) => {
  const paths = sandboxPaths(join(root, 'edited'))
  mkdirSync(paths.folder)
  const [from, to] = [await freeBase(sandboxPorts), await freeBase(sandboxPorts)]
  await configure(paths, from)
  const text = `${readFileSync(paths.configuration, 'utf8')}\n# A note.\n`
  const edited = text.replace('allowed_countries = ["DE", "GB", "US"]', 'allowed_countries = ["FR"]')
  writeFileSync(paths.configuration, edited)
  const { api, config } = await configure(paths, to)
  t.same([api.port, config.service.public_url], [to + 443, `https://127.0.0.1:${to + 443}`])
  const written = readFileSync(paths.configuration, 'utf8')
  t.notMatch(written, `127.0.0.1:${from + 587}`)
  const withFormerPorts = written.replace(/127\.0\.0\.1:(\d+)/g, (_, port) => `127.0.0.1:${Number(port) - to + from}`)
  t.equal(withFormerPorts, edited, 'only ports have changed')

  const named = edited.replaceAll(`"127.0.0.1:${from + 465}"`, `"localhost:${from + 465}"`)
  writeFileSync(paths.configuration, named)
  await t.rejects(configure(paths, to), { name: 'CannotStart' })
  t.equal(readFileSync(paths.configuration, 'utf8'), named)
})

t.test(
  'the sandbox reloads its configuration, and ends with its terminal',
  { skip: skipWithout('script') },
  async (t) => {
    const running = startSandbox(t, '--data', data)
    await running.line(/^Serving/)
    const posthorn = ['reload', '--config', join(data, 'posthorn.toml')]
    const reload = async (): Promise<string> =>
      (await shell(process.execPath, [resolve('dist/src/main.js'), ...posthorn])).stdout
    t.match(await reload(), /^reloaded: no setting has changed/)
    const file = join(data, 'posthorn.toml')
    writeFileSync(file, `${readFileSync(file, 'utf8')}[log]\nlevel = "debug"\n`)
    t.match(await reload(), /^reloaded, in force now:\n {2}log\.level/)
    t.equal(await running.end('SIGTERM'), 0)

    const inTerminal = spawn(
      'script',
      [
        '-qec',
        ['env', ...plainNode(resolve('dist/src/operations/sandbox/main.js')), '--data', `'${data}'`].join(' '),
        '/dev/null',
      ],
      { stdio: ['pipe', 'pipe', 'inherit'] },
    )
    t.teardown(() => inTerminal.kill('SIGKILL'))
    for (let said = ''; !said.includes('Serving until'); ) said += String((await once(inTerminal.stdout, 'data'))[0])
    inTerminal.kill('SIGKILL')
    const again = async (): Promise<string> => {
      const next = startSandbox(t, '--data', data)
      const found = await next.line(/^Serving/).catch(() => '')
      await next.end('SIGTERM')
      return found
    }
    let found = ''
    for (let attempt = 0; attempt < 20 && found === ''; attempt += 1) found = await again()
    t.not(found, '', 'the data folder is free again')
  },
)

t.test('the verdict on a received message can be negative', async (t) => {
  const database = await openDatabase({ file: join(data, 'posthorn.db') })
  t.teardown(database.close)
  const published = publishedKeyFinder(database.read)
  const now = Date.UTC(2040, 0, 1)
  const raw = readArrival(listArrivals()[0])
  const text = raw.toString('latin1')
  const verdict = async (message: string, keys = published): Promise<string> =>
    (await verifyDkimSignature(Buffer.from(message, 'latin1'), keys, now)).result
  t.equal(await verdict(text), 'pass')
  t.equal(await verdict(text.replace('signed it', 'forged it')), 'fail', 'another body')
  t.equal(await verdict(text.replace('Subject: It works', 'Subject: Pay me')), 'fail', 'another header')
  t.equal(await verdict(text, async () => undefined), 'fail', 'no key in DNS')
  t.equal(await verdict(text.replace('DKIM-Signature:', 'X-Was-Signature:')), 'none')
})

t.test('a configuration from before REST gets the usual port, which must be free', async (t) => {
  const older = join(root, 'older')
  mkdirSync(older)
  const file = join(older, 'posthorn.toml')
  const text = readFileSync(join(data, 'posthorn.toml'), 'utf8').replace(/^\[api\]\nlisten = .*$/m, '')
  writeFileSync(file, text)
  const { config, api, startTls } = await configure(sandboxPaths(older), null)
  t.strictSame([api.port, startTls.port], [8443, base + 587])
  const { doctor, outbound, tls } = config
  const asking = [doctor.daily, outbound.tls_reports, tls.acme.enabled]
  t.strictSame(asking, [false, false, false], 'what would ask other machines by itself is off')
  t.equal(readFileSync(file, 'utf8'), text, 'it is left as it is')

  // If another program uses it already, that port is named as well.
  const other = await listenOn(8443)
  t.teardown(() => other?.close())
  const busy = startSandbox(t, '--data', older)
  t.equal(await busy.end(), 1)
  t.match(busy.complained(), /^quickstart: port 8443 on 127\.0\.0\.1 is in use: [^\n]*--port-base[^\n]*\n$/)

  writeFileSync(file, `${text}\n[api]\nlisten = ["http://127.0.0.1:0"]\n`)
  const without = startSandbox(t, '--data', older)
  t.equal(await without.end(), 1)
  t.match(without.complained(), /^quickstart: [^\n]*: api\.listen needs an address with TLS here[^\n]*\n$/)
})

t.test('a wrong option is a usage error', async (t) => {
  const wrong = startSandbox(t, '--data', data, '--port-base', '70000')
  t.equal(await wrong.end(), 2)
  t.match(wrong.complained(), /^quickstart: --port-base: found "70000", allowed: [^\n]*\n$/)
})
