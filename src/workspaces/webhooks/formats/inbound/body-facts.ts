/** The facts from which a process makes the body of a request with an inbound message. They cross as JSON. */

/** A body in our form or in Resend's: the document, at whose end the content is inserted. */
export interface DocumentFacts {
  readonly kind: 'document'
  /** It ends with `}}`: the end of `data`, and its own. */
  readonly document: string
  readonly content: 'parsed' | 'raw'
}

/** A body as Postmark sends it. */
export interface PostmarkFacts {
  readonly kind: 'postmark'
  /** The fields that are known without the message. */
  readonly fields: Readonly<Record<string, unknown>>
  /** Header fields that we add. Those of the message with the same names are left out. */
  readonly headers: readonly { readonly Name: string; readonly Value: string }[]
  /** The body has the message too. */
  readonly hasRaw: boolean
}

/** A form with the message in one of its fields. */
export interface FormFacts {
  readonly kind: 'form'
  readonly boundary: string
  readonly fields: readonly (readonly [name: string, value: string])[]
  readonly messageField: string
}

export type BodyFacts = DocumentFacts | PostmarkFacts | FormFacts
