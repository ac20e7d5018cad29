/** The part of smpp 0.5 that only tests use: its server side. */
declare module 'smpp' {
  import type { Server, Socket } from 'node:net'

  export interface PDU {
    response(parameters?: Readonly<Record<string, string | number>>): PDU
  }
  export class Session {
    readonly socket: Socket
    send(pdu: PDU, onResponse?: (pdu: PDU) => void): boolean
    on(event: 'pdu', listener: (pdu: PDU & Readonly<Record<string, unknown>>) => void): this
    on(event: 'error', listener: (error: Error) => void): this
    close(): void
    destroy(): void
  }
  export function createServer(
    options: { readonly key?: string; readonly cert?: string },
    listener: (session: Session) => void,
  ): Server
}
