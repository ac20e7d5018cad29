/**
 * Answers a client that sent no complete request: it could not be parsed, it timed out, it was not TLS, or there was no
 * room for the connection.
 *
 * They have the body and header fields of all error answers, are written to the socket directly, and
 * the connection is closed.
 */
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { type ErrorCode, toSentError } from '../error-answer.js'
import { type AnsweredRequest, headersOf, JSON_TYPE } from './send-reply.js'

export interface PreRequestAnswer {
  readonly status: number
  readonly code: ErrorCode
  readonly message: string
  readonly headers?: Readonly<Record<string, string>>
}

const unreadableRequest: PreRequestAnswer = {
  status: 400,
  code: 'validation_error',
  message: 'this is not an HTTP/1.1 request',
}

const parserAnswers: Readonly<Record<string, PreRequestAnswer>> = {
  HPE_HEADER_OVERFLOW: { status: 431, code: 'validation_error', message: 'the header is larger than 16384 bytes' },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: {
    status: 413,
    code: 'payload_too_large',
    message: 'the chunk extensions are too large',
  },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, code: 'validation_error', message: 'the request did not arrive in time' },
}

export const plainHttpOnTls: PreRequestAnswer = {
  status: 400,
  code: 'validation_error',
  message: 'this port speaks HTTPS: begin the address with https://',
}

export const connectNotAllowed: PreRequestAnswer = {
  status: 405,
  code: 'method_not_allowed',
  message: 'CONNECT is not allowed here',
  headers: { Allow: 'DELETE, GET, HEAD, PATCH, POST' },
}

export const tooManyConnectionsAnswer: PreRequestAnswer = {
  status: 503,
  code: 'service_unavailable',
  message: 'too many connections, try again later',
  headers: { 'Retry-After': '1' },
}

/** The answer to bytes that the parser refused, or null if the client is gone, or no answer fits. */
export function preRequestAnswerTo(error: NodeJS.ErrnoException): PreRequestAnswer | null {
  const { code = '' } = error
  return parserAnswers[code] ?? (code.startsWith('HPE_') ? unreadableRequest : null)
}

export function formatPreRequestAnswer(
  { status, code, message, headers = {} }: PreRequestAnswer,
  request: AnsweredRequest,
): string {
  const payload = JSON.stringify(toSentError({ error: { code, message, status } }))
  const fields = headersOf({ type: JSON_TYPE, payload, headers: { ...headers, Connection: 'close' } }, request)
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${String(value)}`)
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`, ...lines, '', payload].join('\r\n')
}

/** Milliseconds in which the client may read the answer and close its side. */
const LINGER = 1_000

export function sendAndClose(socket: Socket, text: string): void {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  socket.end(text)
  socket.resume()
  const timer = setTimeout(() => socket.destroy(), LINGER)
  socket.once('close', () => clearTimeout(timer))
}
