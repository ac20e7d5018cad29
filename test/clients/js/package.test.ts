/** The package as npm packs it: its files, its version, and its types in a program that uses it. */
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import ts from 'typescript'
import type { PosthornTransport } from '../../../clients/js/src/nodemailer-transport.js'
import { temporaryFolder } from '../../helpers/database/database.js'
import { openPlainApi } from '../../helpers/http/plain-api.js'

const run = promisify(execFile)
const source = resolve('clients/js')

interface PackageJson {
  readonly name: string
  readonly version: string
  readonly dependencies?: object
}

const readPackage = (folder: string): PackageJson =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as PackageJson

/** A folder of a program in which the package is installed. */
async function installPackage(t: Test): Promise<string> {
  const folder = temporaryFolder(t)
  const argv = ['pack', '--silent', '--offline', `--pack-destination=${folder}`]
  const { stdout } = await run('npm', argv, { cwd: source, env: { ...process.env, npm_config_cache: folder } })
  const installed = join(folder, 'node_modules/@posthorn/client')
  mkdirSync(installed, { recursive: true })
  await run('tar', ['-xzf', join(folder, stdout.trim()), '-C', installed, '--strip-components=1'])
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
  return folder
}

/** A program that uses the package. Lines that must not compile are marked. */
const PROGRAM = `
import { Posthorn, PosthornError, type components } from '@posthorn/client'

export async function use(url: string, key: string) {
  const posthorn = new Posthorn({ url, key })
  const sent = await posthorn.send({ from: 'app@a.test', to: ['bob@b.test'], subject: 'hello', text: 'a line', tags: [{ name: 'a', value: 'b' }] })
  const email: components['schemas']['Email'] = await posthorn.request('GET', '/v1/emails/{id}', { path: { id: sent.id } })
  const raw: Uint8Array = await posthorn.request('GET', '/v1/emails/{id}/raw', { path: { id: sent.id } })
  const batch = await posthorn.sendBatch([{ from: 'app@a.test', to: 'bob@b.test', subject: 'hello', text: 'a line' }])
  const subjects: string[] = []
  for await (const { subject } of posthorn.list('/v1/emails', { query: { limit: 1 } })) subjects.push(subject)
  for await (const { type, data } of posthorn.list('/v1/events')) void [type, data]
  const counted: number = (await posthorn.request('GET', '/v1/metrics')).summary.total
  const removed: undefined = await posthorn.request('DELETE', '/v1/suppressions', { query: { email: 'x@y.test' } }).catch((error: unknown) => {
    if (error instanceof PosthornError && error.status === 404) return undefined
    throw error
  })
  const wrong = [
    // @ts-expect-error an email has recipients
    () => posthorn.send({ from: 'app@a.test', subject: 'hello', text: 'a line' }),
    // @ts-expect-error no such route
    () => posthorn.request('GET', '/v1/emals'),
    // @ts-expect-error the path needs an id
    () => posthorn.request('GET', '/v1/emails/{id}'),
    // @ts-expect-error no such parameter
    () => posthorn.request('GET', '/v1/emails', { query: { colour: 'red' } }),
    // @ts-expect-error not a list with pages
    () => posthorn.list('/v1/metrics'),
  ]
  return { subject: email.subject, bytes: raw.length, batch: batch.success_count, subjects, counted, removed, wrong: wrong.length }
}
`

function compileFile(file: string): readonly string[] {
  const options: ts.CompilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    typeRoots: [resolve('node_modules/@types')],
    types: ['node'],
  }
  const program = ts.createProgram([file], options)
  program.emit()
  return ts
    .getPreEmitDiagnostics(program)
    .filter(({ file: at }) => at === undefined || !at.fileName.includes('/@types/'))
    .map(({ messageText, file: at }) => `${at?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`)
}

t.test('the package has the version of the program, no dependency and nothing but its build', async (t) => {
  const folder = await installPackage(t)
  const installed = readPackage(join(folder, 'node_modules/@posthorn/client'))
  t.equal(installed.version, readPackage('.').version)
  t.equal(installed.dependencies, undefined)
  const { PosthornTransport: Transport } = (await import(entryOf(folder))) as {
    readonly PosthornTransport: typeof PosthornTransport
  }
  t.equal(new Transport({ url: 'http://127.0.0.1', key: 'ph_x' }).version, installed.version)
  const { stdout } = await run('find', ['.', '-type', 'f'], { cwd: join(folder, 'node_modules/@posthorn/client') })
  const others = stdout.split('\n').filter((path) => path !== '' && dirname(path) !== './dist')
  t.same(others.sort(), ['./LICENSE', './README.md', './package.json'])
})

t.test('a program with the package compiles under strict, and sends', async (t) => {
  const { app, host } = await openPlainApi(t)
  const folder = await installPackage(t)
  writeFileSync(join(folder, 'program.ts'), PROGRAM)
  t.same(compileFile(join(folder, 'program.ts')), [])
  const { use } = (await import(pathToFileURL(join(folder, 'program.js')).href)) as {
    readonly use: (url: string, key: string) => Promise<object>
  }
  const result = await use(`http://${host}`, app.key)
  t.match(result, { subject: 'hello', batch: 1, subjects: ['hello', 'hello'], removed: undefined })
})

function entryOf(folder: string): string {
  return pathToFileURL(join(folder, 'node_modules/@posthorn/client/dist/index.js')).href
}
