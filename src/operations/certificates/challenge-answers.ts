/**
 * The answers to challenges that are under way: texts for http-01 (RFC 8555 section 8.3), certificates for tls-alpn-01
 * (RFC 8737). Listeners ask here; an order adds its answers and takes them away again.
 */
import { createSecureContext, type SecureContext } from 'node:tls'
import type { TlsPair } from '../../base/platform/tls-files.js'

export class ChallengeAnswers {
  private readonly texts = new Map<string, string>()
  private readonly contexts = new Map<string, SecureContext>()

  /** The key authorization of a token, or undefined if no challenge has it. */
  textOf(token: string): string | undefined {
    return this.texts.get(token)
  }

  /** The certificate by which a validation of this name is answered. */
  contextOf(name: string): SecureContext | undefined {
    return this.contexts.get(name)
  }

  /** Whether any TLS connection may be a validation. */
  awaitsTls(): boolean {
    return this.contexts.size > 0
  }

  /** Returns how to take it away. */
  addText(token: string, text: string): () => void {
    this.texts.set(token, text)
    return () => void this.texts.delete(token)
  }

  /** Returns how to take it away. */
  addCertificate(name: string, { cert, key }: TlsPair): () => void {
    this.contexts.set(name, createSecureContext({ cert, key, minVersion: 'TLSv1.2' }))
    return () => void this.contexts.delete(name)
  }
}
