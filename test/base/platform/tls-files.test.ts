import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { createServer } from 'node:tls'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { systemClock } from '../../../src/base/platform/clock.js'
import { loadTlsFiles, readAuthorities, readTlsFiles } from '../../../src/base/platform/tls-files.js'
import { skipWithout } from '../../helpers/programs/skip-without.js'

const run = promisify(execFile)
const now = Date.UTC(2026, 10, 21)
const day = 86_400_000

function scratch(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'posthorn-tls-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  return folder
}

/** Says yes to every SMTP command. */
async function serve(t: Test, pair: { readonly cert: string; readonly key: string }): Promise<string> {
  const server = createServer({ cert: pair.cert, key: pair.key }, (socket) => {
    socket.on('error', () => socket.destroy()).write('220 mail.test\r\n')
    createInterface(socket).on('line', (line) => socket.write(line === 'QUIT' ? '221 bye\r\n' : '250 mail.test\r\n'))
  })
  t.teardown(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return String((server.address() as AddressInfo).port)
}

t.test('a self-signed pair', async (t) => {
  const folder = join(scratch(t), 'tls')
  const source = { folder, hostname: 'mail.test', now }
  const first = await loadTlsFiles(null, source)
  const again = (change: Partial<typeof source>) => loadTlsFiles(null, { ...source, ...change })

  t.test('is private and leaves nothing else in its folder', async (t) => {
    t.equal(statSync(join(folder, 'key.pem')).mode & 0o777, 0o600)
    t.equal(statSync(folder).mode & 0o777, 0o700)
    t.equal(readFileSync(first.caFile, 'utf8'), first.cert)
  })

  t.test('is kept while it is valid', async (t) => {
    t.same(await again({}), first)
    t.same(await again({ now: now + 699 * day }), first)
    t.same(await again({ hostname: 'localhost' }), first)
  })

  t.test('is replaced before it expires, for another host name, and when it is broken', async (t) => {
    const late = await again({ now: now + 701 * day })
    t.not(late.cert, first.cert)
    const renamed = await again({ hostname: 'other.test', now: now + 701 * day })
    t.not(renamed.cert, late.cert)
    writeFileSync(join(folder, 'key.pem'), first.key)
    const mended = await again({ hostname: 'other.test' })
    t.not(mended.cert, renamed.cert, 'the key of another certificate')
    writeFileSync(join(folder, 'cert.pem'), '')
    t.not((await again({ hostname: 'other.test' })).cert, mended.cert, 'an empty file')
  })

  t.test('takes a host name that is too long for a common name', async (t) => {
    const hostname = `${'a'.repeat(60)}.${'b'.repeat(60)}.test`
    const { cert, key } = await loadTlsFiles(null, { folder: join(scratch(t), 'tls'), hostname, now })
    t.ok(cert && key)
  })
})

t.test('clients that trust the self-signed certificate verify the server', async (t) => {
  const pair = await loadTlsFiles(null, { folder: scratch(t), hostname: 'mail.test', now: systemClock() })
  const port = await serve(t, pair)
  const trusted = pair.caFile

  t.test('openssl, in its strict mode', { skip: skipWithout('openssl') }, async (t) => {
    const verify = (name: string) =>
      run('openssl', ['verify', '-x509_strict', '-verify_hostname', name, '-CAfile', trusted, trusted])
    t.match(await verify('mail.test'), { stdout: /: OK/ })
    await t.rejects(verify('other.test'), { message: /hostname mismatch/i })
  })

  t.test('curl, by name and by address', { skip: skipWithout('curl') }, async (t) => {
    const curl = (...args: readonly string[]) => run('curl', ['--silent', '--show-error', '--request', 'NOOP', ...args])
    const byName = ['--resolve', `mail.test:${port}:127.0.0.1`, `smtps://mail.test:${port}`]
    await t.resolves(curl('--cacert', trusted, ...byName))
    await t.resolves(curl('--cacert', trusted, `smtps://127.0.0.1:${port}`))
    await t.rejects(curl(...byName), { message: /self.signed/ })
  })

  t.test('swaks', { skip: skipWithout('swaks') }, async (t) => {
    const args = ['--server', `localhost:${port}`, '--tls-on-connect', '--tls-verify', '--quit-after', 'EHLO']
    await t.resolves(run('swaks', [...args, '--tls-ca-path', trusted]))
    await t.rejects(run('swaks', args), { message: /certificate verify failed/ })
  })

  t.test('msmtp, which uses GnuTLS', { skip: skipWithout('msmtp') }, async (t) => {
    const args = ['--serverinfo', '--host=localhost', `--port=${port}`, '--tls=on', '--tls-starttls=off']
    t.match(await run('msmtp', [...args, `--tls-trust-file=${trusted}`]), { stdout: /mail\.test/ })
  })
})

t.test('a configured pair', async (t) => {
  const one = await loadTlsFiles(null, { folder: join(scratch(t), 'one'), hostname: 'one.test', now })
  const two = await loadTlsFiles(null, { folder: join(scratch(t), 'two'), hostname: 'two.test', now })
  const keyOf = (caFile: string) => caFile.replace('cert.pem', 'key.pem')
  const absent = { folder: '/nonexistent/never-made', hostname: 'one.test', now }

  t.test('is served unchanged, and no other is made', async (t) => {
    t.same(await loadTlsFiles({ certFile: one.caFile, keyFile: keyOf(one.caFile) }, absent), one)
  })

  t.test('that does not match is refused with the names of both files', async (t) => {
    const found = readTlsFiles(one.caFile, keyOf(two.caFile))
    await t.rejects(found, { message: new RegExp(`${one.caFile} and ${keyOf(two.caFile)} are not a pair`) })
  })

  t.test('that cannot be read is refused with the name of the file', async (t) => {
    await t.rejects(readTlsFiles('/nonexistent/cert.pem', keyOf(one.caFile)), { message: /\/nonexistent\/cert\.pem/ })
    await t.rejects(readTlsFiles(one.caFile, '/nonexistent/key.pem'), { message: /\/nonexistent\/key\.pem/ })
  })
})

t.test('a file of authorities holds certificates, or is refused by its name', async (t) => {
  const folder = scratch(t)
  const { cert, caFile } = await loadTlsFiles(null, { folder, hostname: 'mx.test', now })
  t.equal(await readAuthorities(caFile), cert)
  const broken = join(folder, 'broken.pem')
  for (const content of ['', 'no certificate', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n']) {
    writeFileSync(broken, content)
    await t.rejects(readAuthorities(broken), { message: /broken\.pem holds no certificate in PEM form: / })
  }
  await t.rejects(readAuthorities(join(folder, 'absent.pem')), { message: /absent\.pem/ })
})
