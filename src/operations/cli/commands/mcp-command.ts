/**
 * `mcp` serves the Model Context Protocol on standard input and output for an agent. It is a client of the REST API:
 * it may do what its key may do, and never opens the database.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { rootCertificates } from 'node:tls'
import type { Config } from '../../../base/config/complete.js'
import { createHttpClient } from '../../../base/platform/http/http-client.js'
import { isLoopback } from '../../../base/platform/ip-address.js'
import { ApiAccess, type ApiTarget } from '../../mcp/api-access.js'
import { changingTools } from '../../mcp/changing-tools.js'
import { McpServer } from '../../mcp/mcp-server.js'
import { readingTools } from '../../mcp/reading-tools.js'
import { runSession } from '../../mcp/run-session.js'
import { type Answer, type Call, CommandFailed, flagOption, refuseExtraWords, textOption } from '../command/command.js'
import { escapeControls } from '../command/mask-controls.js'

const MAX_ANSWER = 8_388_608

export async function serveMcp(call: Call): Promise<Answer> {
  refuseExtraWords(call.words, 0)
  const { url, addresses, authorities } = findServer(call)
  const key = readKey(call)
  const http = await createHttpClient({ maxConnections: 8, maxBodyBytes: MAX_ANSWER, maxDroppedBytes: 0, authorities })
  const tools = flagOption(call.options, 'allow-changes') ? [...readingTools, ...changingTools] : readingTools
  const server = new McpServer(new ApiAccess(http, { url, addresses, key }), tools)
  try {
    await runSession(call.openInput(), server, (line) => call.printLines([escapeControls(line)]))
  } finally {
    await http.close()
  }
  // Standard output has nothing but messages, with --json too.
  return { json: null, lines: [], bytes: [] }
}

interface Server extends Omit<ApiTarget, 'key'> {
  readonly authorities?: string | undefined
}

function findServer({ options, env, config }: Call): Server {
  const given = textOption(options, 'url') ?? env['POSTHORN_URL'] ?? ''
  return given === '' ? findLocalServer(config) : { url: parseUrl(given), addresses: null }
}

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null
  const rule = 'needs an address such as https://mx.example.com:8443'
  if (url === null || !/^https?:$/.test(url.protocol)) throw new CommandFailed(`the URL "${text}" ${rule}`)
  if (`${url.username}${url.password}${url.search}${url.hash}` !== '') {
    throw new CommandFailed(`the URL of ${url.host} ${rule}, without a password, a query or a fragment`)
  }
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (url.protocol === 'http:' && host !== 'localhost' && !isLoopback(host)) {
    throw new CommandFailed(`the URL "${text}" would send the key without encryption: use https://`)
  }
  return url
}

/** Finds the daemon of the configuration on this machine. */
function findLocalServer({ api, service, tls }: Config): Server {
  const plain = api.listen.find((one) => one.kind === 'http')
  if (plain !== undefined) return { url: new URL(`http://${hostInUrl(plain.host)}:${plain.port}`), addresses: null }
  const secure = api.listen.find((one) => one.kind === 'tls')
  if (secure === undefined) throw new CommandFailed('api.listen has Unix sockets only: set POSTHORN_URL, or give --url')
  const address = { '0.0.0.0': '127.0.0.1', '::': '::1', localhost: '127.0.0.1' }[secure.host] ?? secure.host
  const own = tls.cert_file ?? join(service.data_dir, 'tls/cert.pem')
  return {
    url: new URL(`https://${service.hostname}:${secure.port}`),
    addresses: [address],
    // The certificate may be self-signed, or come from a public authority.
    authorities: existsSync(own) ? [...rootCertificates, readFileSync(own, 'utf8')].join('\n') : undefined,
  }
}

function hostInUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}

function readKey({ options, env }: Call): string {
  const file = textOption(options, 'key-file')
  const key = (file === undefined ? (env['POSTHORN_API_KEY'] ?? '') : readFileSync(file, 'utf8')).trim()
  if (/^[\x21-\x7e]{1,500}$/.test(key)) return key
  const found = key === '' ? 'there is no API key' : 'the API key has characters that no key has'
  throw new CommandFailed(`${found}: set POSTHORN_API_KEY, or name a file that has the key with --key-file`)
}
