/** One request as a command and in three programming languages, with what each has at hand or usually installed. Pure. */

export interface SampleRequest {
  /** In upper case. */
  readonly method: string
  readonly url: string
  /** The request needs a key. */
  readonly isSigned: boolean
  readonly body: SampleBody | null
}

type SampleBody =
  | { readonly kind: 'json'; readonly value: unknown }
  | { readonly kind: 'text'; readonly type: string; readonly text: string }
  /** A file in the field `file` of a form. */
  | { readonly kind: 'file' }

interface Sample {
  readonly language: 'curl' | 'Node.js' | 'Python' | 'PHP'
  readonly code: string
}

export function writeSamples(request: SampleRequest): readonly Sample[] {
  return [
    { language: 'curl', code: writeCurl(request) },
    { language: 'Node.js', code: writeNode(request) },
    { language: 'Python', code: writePython(request) },
    { language: 'PHP', code: writePhp(request) },
  ]
}

/** Name and value of each header field. The programs make that of a form themselves. */
function listHeaders({ isSigned, body }: SampleRequest): readonly (readonly [name: string, value: string])[] {
  const type = body === null || body.kind === 'file' ? null : body.kind === 'json' ? 'application/json' : body.type
  return [
    ...(isSigned ? [['Authorization', 'Bearer KEY'] as const] : []),
    ...(type === null ? [] : [['Content-Type', type] as const]),
  ]
}

function writeCurl(request: SampleRequest): string {
  const { method, url, body } = request
  const isImplied = method === 'GET' || (method === 'POST' && body !== null)
  const options = listHeaders(request).map(([name, value]) => `-H ${quoteShell(`${name}: ${value}`)}`)
  const parts = [`curl ${isImplied ? '' : `-X ${method} `}${quoteShell(url)}`, ...options]
  if (body?.kind === 'file') parts.push("-F 'file=@FILE'")
  else if (body !== null)
    parts.push(`--data-binary ${quoteShell(body.kind === 'json' ? indent(body.value) : body.text)}`)
  return parts.join(' \\\n  ')
}

function writeNode(request: SampleRequest): string {
  const { method, url, body } = request
  const headers = listHeaders(request).map(([name, value]) => `    ${quoteName(name)}: ${quoteScript(value)},`)
  const lines = [
    ...(body?.kind === 'file'
      ? [
          "import { openAsBlob } from 'node:fs'",
          '',
          'const form = new FormData()',
          "form.set('file', await openAsBlob('FILE'), 'FILE')",
        ]
      : []),
    `const response = await fetch(${quoteScript(url)}, {`,
    `  method: ${quoteScript(method)},`,
    ...(headers.length === 0 ? [] : ['  headers: {', ...headers, '  },']),
  ]
  if (body?.kind === 'file') lines.push('  body: form,')
  if (body?.kind === 'json') lines.push(`  body: JSON.stringify(${indent(body.value).replaceAll('\n', '\n  ')}),`)
  if (body?.kind === 'text') lines.push(`  body: ${quoteScript(body.text)},`)
  return [...lines, '})', 'console.log(response.status, await response.text())'].join('\n')
}

function quoteName(name: string): string {
  return /^\w+$/.test(name) ? name : quoteScript(name)
}

function writePython(request: SampleRequest): string {
  const { method, url, body } = request
  const headers = listHeaders(request).map(([name, value]) => `        ${quoteScript(name)}: ${quoteScript(value)},`)
  const lines = [
    'import requests  # pip install requests',
    '',
    'response = requests.request(',
    `    ${quoteScript(method)},`,
    `    ${quoteScript(url)},`,
    ...(headers.length === 0 ? [] : ['    headers={', ...headers, '    },']),
  ]
  if (body?.kind === 'file') lines.push("    files={'file': open('FILE', 'rb')},")
  if (body?.kind === 'json') lines.push(`    json=${writeLiteral(body.value, python, '    ')},`)
  if (body?.kind === 'text') lines.push(`    data=${quoteScript(body.text)}.encode(),`)
  return [...lines, ')', 'print(response.status_code, response.text)'].join('\n')
}

function writePhp(request: SampleRequest): string {
  const { method, url, body } = request
  const headers = listHeaders(request).map(([name, value]) => `        ${quotePhp(`${name}: ${value}`)},`)
  const lines = [
    '<?php',
    `$request = curl_init(${quotePhp(url)});`,
    'curl_setopt_array($request, [',
    `    CURLOPT_CUSTOMREQUEST => ${quotePhp(method)},`,
    '    CURLOPT_RETURNTRANSFER => true,',
    ...(headers.length === 0 ? [] : ['    CURLOPT_HTTPHEADER => [', ...headers, '    ],']),
  ]
  if (body?.kind === 'file') lines.push("    CURLOPT_POSTFIELDS => ['file' => new CURLFile('FILE')],")
  if (body?.kind === 'json')
    lines.push(`    CURLOPT_POSTFIELDS => json_encode(${writeLiteral(body.value, php, '    ')}),`)
  if (body?.kind === 'text') lines.push(`    CURLOPT_POSTFIELDS => ${quotePhp(body.text)},`)
  return [
    ...lines,
    ']);',
    '$answer = curl_exec($request);',
    'echo curl_getinfo($request, CURLINFO_RESPONSE_CODE), " ", $answer, "\\n";',
  ].join('\n')
}

/** How a language writes values. */
interface Notation {
  readonly words: Readonly<Record<'true' | 'false' | 'null', string>>
  readonly quote: (text: string) => string
  readonly map: readonly [open: string, arrow: string, close: string, empty: string]
}

const python: Notation = {
  words: { true: 'True', false: 'False', null: 'None' },
  quote: quoteScript,
  map: ['{', ': ', '}', '{}'],
}

const php: Notation = {
  words: { true: 'true', false: 'false', null: 'null' },
  quote: quotePhp,
  map: ['[', ' => ', ']', '(object) []'],
}

function writeLiteral(value: unknown, notation: Notation, margin: string): string {
  const { words, quote, map } = notation
  if (value === null || value === undefined) return words.null
  if (typeof value === 'boolean') return value ? words.true : words.false
  if (typeof value === 'string') return quote(value)
  if (typeof value !== 'object') return String(value)
  const inner = `${margin}    `
  const write = (item: unknown): string => writeLiteral(item, notation, inner)
  if (Array.isArray(value)) {
    return value.length === 0 ? '[]' : `[\n${value.map((item) => `${inner}${write(item)},\n`).join('')}${margin}]`
  }
  const [open, arrow, close, empty] = map
  const fields = Object.entries(value).map(([name, item]) => `${inner}${quote(name)}${arrow}${write(item)},\n`)
  return fields.length === 0 ? empty : `${open}\n${fields.join('')}${margin}${close}`
}

function indent(value: unknown): string {
  return JSON.stringify(value, null, 2)
}

function quoteShell(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

/** JavaScript and Python read the same escapes. */
function quoteScript(text: string): string {
  const escaped = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")
  return `'${escaped}'`
}

function quotePhp(text: string): string {
  if (!/[\r\n\t]/.test(text)) return `'${text.replace(/[\\']/g, '\\$&')}'`
  const names: Readonly<Record<string, string>> = { '\r': '\\r', '\n': '\\n', '\t': '\\t' }
  const escaped = text.replace(/[\\"$]/g, '\\$&').replace(/[\r\n\t]/g, (sign) => names[sign] ?? sign)
  return `"${escaped}"`
}
