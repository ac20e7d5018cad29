/**
 * What a route is: data, not code that registers itself.
 *
 * From one list of routes come the router, the check of permissions, the parsing of
 * input and the OpenAPI document, so that none of them can drift from the others. A
 * resource is a file that returns its routes; `run` calls one engine or record below and
 * shapes the answer. What a client did wrong is thrown as a Refusal.
 */
import type { z } from 'zod'
import type { Area } from '../../accounts/permissions.js'
import type { Principal } from '../../accounts/principal.js'
import type { FileLimit, UploadedFile } from './input/upload.js'
import type { ErrorCode } from './output/error-answer.js'
import type { HeaderName } from './output/header-fields.js'

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

export interface Call<Query = unknown, Body = unknown> {
  readonly principal: Principal
  /** Not null: the caller may see only what this key has sent. */
  readonly ownKey: string | null
  /** Of the path, as `{ id }`. */
  readonly params: Readonly<Record<string, string>>
  readonly query: Query
  readonly body: Body
  /** The body's bytes as they came. */
  readonly rawBody: Buffer
  /** A header field of the request by its lower-case name. */
  readonly header: (name: string) => string | undefined
  readonly remoteAddress: string
  readonly now: number
}

export type Answer =
  | { readonly kind: 'json'; readonly status: number; readonly body: unknown }
  /** JSON that is text already. */
  | { readonly kind: 'text'; readonly status: number; readonly json: string }
  | {
      readonly kind: 'bytes'
      readonly type: string
      readonly bytes: Buffer
      readonly headers?: Readonly<Record<string, string>>
    }
  | StreamAnswer
  | { readonly kind: 'nothing' }

/** Bytes of any length, in pieces that are made while they are read. */
export interface StreamAnswer {
  readonly kind: 'stream'
  readonly type: string
  readonly headers: Readonly<Record<string, string>>
  readonly pieces: AsyncIterable<string | Buffer>
}

export const json = (status: number, body: unknown): Answer => ({ kind: 'json', status, body })
/** 204 without a body. */
export const noContent: Answer = { kind: 'nothing' }

/** An answer as the OpenAPI document tells of it. */
export interface DocumentedAnswer {
  readonly description: string
  /** Of a JSON body. */
  readonly schema?: z.ZodType
  /** Of a body that is no JSON. */
  readonly type?: string
  /** Of a body that is no JSON: that of JSON comes from its schema. */
  readonly example?: string
  /** Header fields beside those of every answer. */
  readonly headers?: readonly HeaderName[]
}

interface Common {
  /** Below the version: `/emails/:id`. */
  readonly path: string
  /** The resource's name in the OpenAPI document. */
  readonly tag: string
  readonly summary: string
  readonly description?: string
  /** What the parameters of the path are, for the OpenAPI document; `id` is that of the resource of the tag. */
  readonly params?: Readonly<Record<string, string>>
  /** Header fields that the route reads, for the OpenAPI document. */
  readonly headers?: z.ZodObject
  /** By status: those of success. */
  readonly answers: Readonly<Record<number, DocumentedAnswer>>
  /** Codes beyond those that every route can answer. */
  readonly refusals: readonly ErrorCode[]
}

interface KeyCommon extends Common {
  readonly method: Method
  /** What the key must be allowed to. */
  readonly area: Area
  /** Keys that may only send may use it on what they have sent. */
  readonly own?: true
}

export interface RouteSpec<Query, Body> extends KeyCommon {
  readonly query?: z.ZodType<Query>
  readonly body?: z.ZodType<Body>
  readonly run: (call: Call<Query, Body>) => Promise<Answer> | Answer
}

/** A route whose input types are forgotten: the pipeline parses by its own schemas before it runs it. */
export interface KeyRoute extends KeyCommon {
  readonly query: z.ZodType | null
  readonly body: z.ZodType | null
  readonly run: (call: Call) => Promise<Answer> | Answer
}

/** A request that brings one file. */
export interface UploadCall<Query = unknown> {
  readonly principal: Principal
  readonly params: Readonly<Record<string, string>>
  readonly query: Query
  readonly file: UploadedFile
  readonly now: number
}

interface UploadCommon extends KeyCommon {
  readonly method: 'POST'
  /** Of the part `file`. */
  readonly limit: FileLimit
  /** What the file must be, for the OpenAPI document. */
  readonly fileDescription: string
  /** What it may look like, for the OpenAPI document. */
  readonly fileExample?: string
}

export interface UploadSpec<Query> extends UploadCommon {
  readonly query?: z.ZodType<Query>
  readonly run: (call: UploadCall<Query>) => Promise<Answer>
}

export interface UploadRoute extends UploadCommon {
  readonly query: z.ZodType | null
  readonly body: null
  readonly run: (call: UploadCall) => Promise<Answer>
}

/** Somebody who follows a link, with a key or without one. */
export interface LinkCall<Query = unknown> {
  readonly params: Readonly<Record<string, string>>
  readonly query: Query
  readonly now: number
}

interface LinkCommon extends Common {
  readonly method: 'GET'
  /** Nobody is asked for a key: the route itself finds out whether the link was signed by us. */
  readonly area: 'link'
}

export interface LinkSpec<Query> extends LinkCommon {
  readonly query: z.ZodType<Query>
  readonly run: (visitor: LinkCall<Query>) => Promise<Answer> | Answer
}

export interface LinkRoute extends LinkCommon {
  readonly query: z.ZodType
  readonly body: null
  readonly run: (visitor: LinkCall) => Promise<Answer> | Answer
}

/** Somebody without a key who brings a secret of ours in the body. */
export interface OpenCall<Body = unknown> {
  readonly body: Body
  readonly remoteAddress: string
  readonly now: number
}

interface OpenCommon extends Common {
  readonly method: 'POST'
  /** Nobody is asked for a key: the route itself finds out what the body entitles to. */
  readonly area: 'open'
}

export interface OpenSpec<Body> extends OpenCommon {
  readonly body: z.ZodType<Body>
  readonly run: (stranger: OpenCall<Body>) => Promise<Answer> | Answer
}

export interface OpenRoute extends OpenCommon {
  readonly query: null
  readonly body: z.ZodType
  readonly run: (stranger: OpenCall) => Promise<Answer> | Answer
}

export type Route = KeyRoute | UploadRoute | LinkRoute | OpenRoute

/** Does whoever asks need no key? */
export function isPublic({ area }: Pick<Route, 'area'>): boolean {
  return area === 'link' || area === 'open'
}

export function openRoute<Body>(spec: OpenSpec<Body>): OpenRoute {
  const { run, ...common } = spec
  return { ...common, query: null, run: (stranger) => run(stranger as OpenCall<Body>) }
}

export function linkRoute<Query>(spec: LinkSpec<Query>): LinkRoute {
  const { run, ...common } = spec
  return { ...common, body: null, run: (visitor) => run(visitor as LinkCall<Query>) }
}

export function route<Query = undefined, Body = undefined>(spec: RouteSpec<Query, Body>): KeyRoute {
  const { query = null, body = null, run, ...common } = spec
  return { ...common, query, body, run: (call) => run(call as Call<Query, Body>) }
}

export function uploadRoute<Query = undefined>(spec: UploadSpec<Query>): UploadRoute {
  const { query = null, run, ...common } = spec
  return { ...common, query, body: null, run: (call) => run(call as UploadCall<Query>) }
}
