/** The parts of mailauth's DKIM verifier that we extend or call: the package declares types for its function only. */
declare module 'mailauth/lib/dkim/dkim-verifier.js' {
  import { Writable } from 'node:stream'
  import type { DKIMVerifyOptions, DKIMVerifyResult } from 'mailauth'
  import type { HeaderRow, KeyCache } from 'mailauth/lib/tools.js'

  export interface ParsedHeader {
    readonly parsed: readonly HeaderRow[]
    readonly original: Buffer
  }

  interface Tag {
    value?: unknown
  }

  export interface PreparedSignature {
    /** The tags of the field. */
    readonly parsed?: { readonly d?: Tag; readonly s?: Tag; readonly i?: Tag }
    /** `prepareSignature` takes it from the tags; its key is looked up. */
    signingDomain?: string
    selector?: string
    identity?: string
    identityDomain?: string
    readonly bodyCanon: string
    readonly hashAlgo: string
    /** The value of `l=`; an empty string if there is none. */
    readonly maxBodyLength: number | ''
    /** Why the signature is not verified, and is reported as `neutral`. */
    skip?: string
    readonly invalid?: string
  }

  export interface BodyHasher {
    readonly update: (chunk: Buffer) => void
    readonly digest: (encoding: 'base64') => string
    readonly setContentType: (parsed: unknown) => void
    readonly getMimeStructureStart: () => number
  }

  export class DkimVerifier extends Writable {
    constructor(options: DKIMVerifyOptions)
    /** Addresses of the From fields. */
    readonly headerFrom: readonly string[]
    readonly results: DKIMVerifyResult['results']
    readonly arc: DKIMVerifyResult['arc']
    /** One for each way of hashing the body. */
    readonly bodyHashes: Map<string, BodyHasher>
    keyCache: KeyCache
    headers: ParsedHeader | false
    prepareSignature(signature: PreparedSignature): void
    /** Returns the key in `bodyHashes`. */
    addBodyHash(canonicalization: string, algorithm: string, maxBodyLength: number | ''): string
    /** Reads the whole header, with the empty line at its end. */
    emitHeaders(header: Buffer): Promise<void>
    /** `emitHeaders` calls it with the header that it has read. */
    messageHeaders(header: ParsedHeader): Promise<void>
    /** Verifies the signatures. */
    finalChunk(): Promise<void>
  }
}

declare module 'mailauth/lib/tools.js' {
  import type { KeyObject } from 'node:crypto'
  import type { DNSResolver } from 'mailauth'

  export interface HeaderRow {
    /** In lower case. */
    readonly key: string
    readonly casedKey: string
    /** The field as written, without the line end of its last line. */
    readonly line: Buffer
  }

  export function parseHeaders(header: Buffer): { readonly parsed: readonly HeaderRow[] }

  export interface KeyOptions {
    readonly strict: boolean
    readonly hashAlgo: string
  }

  /** node:crypto verifies with `publicKey`. */
  export interface KeyLookup<T> {
    readonly publicKey: T
  }

  /** mailauth asks it for the key of each signature of one message. */
  export interface KeyCache {
    readonly resolver: DNSResolver
    readonly get: (
      type: string,
      name: string,
      minBitLength: number,
      options: KeyOptions,
    ) => Promise<KeyLookup<KeyObject | string>>
  }

  export function toALabel(domain: string): string

  /** Rejects if the record holds no usable key. */
  export function getPublicKey(
    type: string,
    name: string,
    minBitLength: number,
    resolver: DNSResolver,
    options: KeyOptions,
  ): Promise<KeyLookup<string>>
}
