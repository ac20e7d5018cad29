/** The part of mailauth's DKIM verifier that we extend: the package types its function alone. */
declare module 'mailauth/lib/dkim/dkim-verifier.js' {
  import { Writable } from 'node:stream'
  import type { DKIMVerifyOptions, DKIMVerifyResult } from 'mailauth'

  export interface PreparedSignature {
    readonly bodyCanon: string
    readonly hashAlgo: string
    /** The value of `l=`; an empty string where there is none. */
    readonly maxBodyLength: number | ''
    /** Why it is not verified, and reported as `neutral`. */
    skip?: string
    readonly invalid?: string
  }

  export class DkimVerifier extends Writable {
    constructor(options: DKIMVerifyOptions)
    /** False until the end of the header was seen. */
    readonly headers: unknown
    readonly results: DKIMVerifyResult['results']
    readonly arc: DKIMVerifyResult['arc']
    /** One for each way in which the body is hashed. */
    readonly bodyHashes: ReadonlyMap<string, unknown>
    prepareSignature(signature: PreparedSignature): void
  }
}
