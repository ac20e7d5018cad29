/** The part of mailauth's DKIM verifier that we extend: the package declares types for its function only. */
declare module 'mailauth/lib/dkim/dkim-verifier.js' {
  import { Writable } from 'node:stream'
  import type { DKIMVerifyOptions, DKIMVerifyResult } from 'mailauth'

  export interface PreparedSignature {
    readonly bodyCanon: string
    readonly hashAlgo: string
    /** The value of `l=`; an empty string if there is none. */
    readonly maxBodyLength: number | ''
    /** Why it is not verified, and reported as `neutral`. */
    skip?: string
    readonly invalid?: string
  }

  export class DkimVerifier extends Writable {
    constructor(options: DKIMVerifyOptions)
    /** False until the end of the header was read. */
    readonly headers: unknown
    readonly results: DKIMVerifyResult['results']
    readonly arc: DKIMVerifyResult['arc']
    /** One for each way of hashing the body. */
    readonly bodyHashes: ReadonlyMap<string, unknown>
    prepareSignature(signature: PreparedSignature): void
  }
}
