/** The types of a request and its answer, taken from the `paths` that openapi-typescript makes of an OpenAPI document. */
import type { RequestOptions } from './connection.js'

export type Verb = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** The paths that have the method. */
export type PathWith<Paths, Method extends Verb> = {
  [Path in keyof Paths]: Paths[Path] extends { [Key in Lowercase<Method>]: object } ? Path : never
}[keyof Paths] &
  string

export type OperationOf<Paths, Method extends Verb, Path extends keyof Paths> = Paths[Path] extends {
  [Key in Lowercase<Method>]: infer Operation
}
  ? Operation
  : never

type PathPart<Operation> = Operation extends { parameters: { path: infer Values extends object } }
  ? { readonly path: Values }
  : object

type QueryOf<Operation> = Operation extends { parameters: { query?: infer Query } } ? Extract<Query, object> : never

type QueryPart<Operation> = [QueryOf<Operation>] extends [never] ? object : { readonly query?: QueryOf<Operation> }

type BodyPart<Operation> = Operation extends { requestBody: { content: infer Content } }
  ? { readonly body: BodyIn<Content> }
  : Operation extends { requestBody?: { content: infer Content } }
    ? { readonly body?: BodyIn<Content> }
    : object

type BodyIn<Content> = Content extends { 'application/json': infer Body } ? Body : FormData

export type InputOf<Operation> = PathPart<Operation> & QueryPart<Operation> & BodyPart<Operation> & RequestOptions

/** Optional if nothing in it is required. */
export type InputArguments<Operation> =
  object extends InputOf<Operation> ? [input?: InputOf<Operation>] : [input: InputOf<Operation>]

/** The bodies of all successes. What is not JSON comes as bytes. */
export type AnswerOf<Operation> = Operation extends { responses: infer Responses }
  ? BodyOfAnswer<Responses[keyof Responses & (200 | 201 | 202 | 204)]>
  : never

type BodyOfAnswer<Answer> = Answer extends { content: infer Content }
  ? Content extends { 'application/json': infer Body }
    ? Body
    : Uint8Array
  : undefined

/** Lists whose pages the client can ask for: their query has `limit`. */
export type ListPath<Paths> = {
  [Path in PathWith<Paths, 'GET'>]: QueryOf<OperationOf<Paths, 'GET', Path>> extends { limit?: unknown } ? Path : never
}[PathWith<Paths, 'GET'>]

export type ItemOf<Answer> = Answer extends { data: readonly (infer Item)[] } ? Item : never
