/** The samples of a request are programs that send what the request says. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import t from 'tap'
import { type SampleRequest, writeSamples } from '../../../src/servers/pages/code-samples.js'
import { skipWithout } from '../../helpers/programs/skip-without.js'

const run = promisify(execFile)
const hostile = `it's "quoted" \\ $HOME \n\${x} <?php ?> é`
const value = { text: hostile, list: [1, true, null, 'x'], empty: {}, none: [], nested: { a: { b: 0.5 } } }
const url = 'http://127.0.0.1:1/'
const request = { method: 'PATCH', url, isSigned: true, body: { kind: 'json', value } } as const

t.test('each language is written once, with the key only where it is needed', async (t) => {
  const samples = writeSamples(request)
  t.same(
    samples.map(({ language }) => language),
    ['curl', 'Node.js', 'Python', 'PHP'],
  )
  for (const { code } of samples) t.match(code, 'Bearer KEY')
  const open: SampleRequest = { method: 'GET', url, isSigned: false, body: null }
  for (const { code, language } of writeSamples(open)) t.notMatch(code, /Bearer|-X GET|Content-Type/, language)
  for (const { code } of writeSamples({ ...request, body: { kind: 'file' } })) {
    t.notMatch(code, 'Content-Type', 'the program writes the boundary')
  }
})

const programs = {
  curl: { program: 'curl', command: 'sh', args: (code: string) => ['-c', code] },
  'Node.js': { program: 'node', command: 'node', args: (code: string) => ['--input-type=module', '-e', code] },
  Python: { program: 'python3', command: 'python3', args: (code: string) => ['-c', code] },
  PHP: { program: 'php', command: 'php', args: (code: string) => ['-r', code.replace('<?php', '')] },
} as const

/** Programs that the machine has, and their usual parts. */
async function hasParts(language: keyof typeof programs): Promise<boolean> {
  if (skipWithout(programs[language].program) !== false) return false
  const probes = {
    Python: ['python3', '-c', 'import requests'],
    PHP: ['php', '-r', 'exit(function_exists("curl_init") ? 0 : 1);'],
  }
  const [command, ...args] = language === 'Python' || language === 'PHP' ? probes[language] : []
  if (command === undefined) return true
  return run(command, args).then(
    () => true,
    () => false,
  )
}

t.test('each program sends the method, the key and the body', async (t) => {
  const seen: { method: string; key: string; body: string }[] = []
  const server = createServer((message, response) => {
    let body = ''
    message.setEncoding('utf8')
    message.on('data', (piece: string) => {
      body += piece
    })
    message.on('end', () => {
      seen.push({ method: message.method ?? '', key: message.headers.authorization ?? '', body })
      response.end('{}')
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  for (const body of [request.body, { kind: 'text', type: 'message/rfc822', text: `From: a\r\n${hostile}` }] as const) {
    for (const { language, code } of writeSamples({ ...request, url: `http://127.0.0.1:${port}/a?b=c`, body })) {
      if (!(await hasParts(language))) continue
      const { command, args } = programs[language]
      await run(command, args(code))
      const sent = seen.pop()
      t.match(sent, { method: 'PATCH', key: 'Bearer KEY' }, language)
      if (body.kind === 'json') t.same(JSON.parse(sent?.body ?? ''), value, language)
      else t.equal(sent?.body, body.text, language)
    }
  }
})
