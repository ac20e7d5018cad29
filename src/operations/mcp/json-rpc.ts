/** JSON-RPC 2.0: reads a message of a client, and writes results and errors. */
import { isRecord } from '../../base/platform/records.js'

export const rpcErrors = {
  parse: -32_700,
  invalidRequest: -32_600,
  unknownMethod: -32_601,
  invalidParams: -32_602,
  internal: -32_603,
} as const

/** The request cannot be answered. What a tool refuses is a result instead, which the model sees. */
export class RpcError extends Error {
  override name = 'RpcError'

  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message)
  }
}

type RpcId = string | number | null

export interface RpcRequest {
  readonly id: RpcId
  readonly method: string
  readonly params: Readonly<Record<string, unknown>>
}

/** A notification, and the answer to a request that we never make, get no answer. */
type RpcMessage = { readonly kind: 'request'; readonly request: RpcRequest } | { readonly kind: 'silent' }

/** Throws an RpcError if the value is no message. */
export function readMessage(value: unknown): RpcMessage {
  if (!isRecord(value) || value['jsonrpc'] !== '2.0') throw invalidRequest('jsonrpc: must be "2.0"')
  const { id, method, params = {} } = value
  if (method === undefined && ('result' in value || 'error' in value)) return { kind: 'silent' }
  if (typeof method !== 'string') throw invalidRequest('method: must be a text')
  if (!('id' in value)) return { kind: 'silent' }
  if (typeof id !== 'string' && typeof id !== 'number') throw invalidRequest('id: must be a text or a number')
  if (!isRecord(params)) throw new RpcError(rpcErrors.invalidParams, 'params: must be an object')
  return { kind: 'request', request: { id, method, params } }
}

/** The id of a message that is at fault, as far as it has one. */
export function findId(value: unknown): RpcId {
  const id = isRecord(value) ? value['id'] : null
  return typeof id === 'string' || typeof id === 'number' ? id : null
}

export function toRpcReply(id: RpcId, result: unknown): object {
  return { jsonrpc: '2.0', id, result }
}

export function toRpcError(id: RpcId, { code, message }: RpcError): object {
  return { jsonrpc: '2.0', id, error: { code, message } }
}

function invalidRequest(message: string): RpcError {
  return new RpcError(rpcErrors.invalidRequest, message)
}
