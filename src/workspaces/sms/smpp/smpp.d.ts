/** The part of smpp 0.5 that we use. The package has no types. */
declare module 'smpp' {
  /** A protocol data unit; its other members are the header and the parameters of its command. */
  export class PDU {
    /** Throws if the bytes cannot be read as parameters. */
    constructor(bytes: Buffer)
    constructor(command: string, parameters: Readonly<Record<string, string | number | Buffer>>)
    /** `unknown` means that the package has no such command. */
    readonly command: string
    toBuffer(): Buffer
  }
  export const errors: Readonly<Record<string, number>>
  export const encodings: {
    /** The encoding of data_coding 0. */
    default: 'ASCII' | 'LATIN1' | 'UCS2'
    /** The GSM default alphabet, one octet for each septet. */
    readonly ASCII: { readonly encode: (text: string) => Buffer }
  }
}
