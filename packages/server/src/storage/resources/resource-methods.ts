import { EmptySchema } from '@berth/contract/gen/google/protobuf/empty_pb.js'
import {
  create,
  type DescMessage,
  type DescService,
  equals,
  type Message,
  type MessageShape,
} from '@bufbuild/protobuf'
import type { FieldMask } from '@bufbuild/protobuf/wkt'
import { type ApiError, type FieldViolation, notFound } from '../../api/errors.ts'
import { requireValid } from '../../api/fields.ts'
import { applyUpdate } from '../../api/messages.ts'
import type { SortFields } from '../../api/order-by.ts'
import type { StandardMethod } from '../../api/standard-methods.ts'
import { parentOf, rootOf, type Uid } from '../../api/uid.ts'
import { requireScope } from '../../pipeline/authorization.ts'
import type { Call, Handler, Handlers } from '../../pipeline/call.ts'
import { addWarnings, type Warning } from '../../pipeline/warnings.ts'
import { whenReady } from '../../runtime/when-ready.ts'
import { cachedMessage } from '../cache/cached-messages.ts'
import { mutate } from '../changes/mutation.ts'
import type { Db, Reader, Tx } from '../db.ts'
import { type ListRequest, type ListSpec, listKey, listPage } from '../list/list.ts'
import {
  deleteResource,
  insertResource,
  lockForChange,
  nextUpdateMs,
  type ResourceDefinition,
  readResource,
  updateResource,
} from '../resource-rows.ts'
import type { ResourceTable, Tables } from '../schema/tables.ts'
import type { Store } from '../store.ts'
import { fieldOf, methodOf, resourceType, sortFieldsOf } from './declared-resource.ts'

/** The standard methods of a resource (AIP-131 to AIP-135), from one declaration of what is special about it. */

/** Columns that `resourceMethods` fills. */
type ManagedColumn = 'root' | 'uid' | 'parent' | 'created_ms' | 'updated_ms'

/** Columns that a resource's own fields are stored in. */
export type ResourceColumns<C extends ResourceTable> = Omit<Tables[C], ManagedColumn>

/** A create or an update, before it is written. */
export interface PendingChange<C extends ResourceTable, M extends DescMessage> {
  readonly tx: Tx
  readonly call: Call
  /** What the resource will be; not yet checked where a check is asked for. */
  readonly next: MessageShape<M>
  /** The group, or whatever else the resource is in. It is locked by a create. */
  readonly parent: Uid
  readonly nowMs: number
  /** The resource as it is, locked; undefined on create. */
  readonly existing: { readonly row: Tables[C]; readonly current: MessageShape<M> } | undefined
}

/** Declares how callers may write a resource. */
export interface WriteDeclaration<C extends ResourceTable, M extends DescMessage> {
  /** Every violation in the fields. */
  checks(change: PendingChange<C, M>): readonly (FieldViolation | undefined)[]
  /** Authorizes what the change gives away, and locks what it refers to. Runs after the checks. */
  readonly authorize?: (change: PendingChange<C, M>) => Promise<void> | void
  /** Writes what follows from the change, in its transaction. */
  readonly afterWrite?: (change: PendingChange<C, M>) => Promise<void>
  /** What the fields are stored as. An update may leave out columns that stay. */
  columns(change: PendingChange<C, M>): Partial<ResourceColumns<C>>
  /** What a client should know about a valid resource that it has just written. */
  readonly warnings?: (message: MessageShape<M>) => readonly Warning[]
  /** The error for a create or an update that violates a unique index. */
  readonly alreadyExists?: (call: Call, parent: string, next: MessageShape<M>) => ApiError | Promise<ApiError>
}

export interface ResourceDeclaration<
  C extends ResourceTable,
  M extends DescMessage,
  R = ListRequest,
  K extends keyof Tables[C] & string = keyof Tables[C] & string,
> {
  readonly table: C
  readonly schema: M
  /** The columns that lists read for messages. By default all. */
  readonly columns?: readonly K[]
  /** A column of bytes that may be large, and how much of it a page of the list has. */
  readonly wide?: ListSpec<C>['wide']
  /**
   * Get and List cache the messages, and do not change them. They must depend on the database alone, not on the time, memory or the caller, and
   * lists on no request fields but those in `filter`.
   */
  readonly isCached?: boolean
  /** The messages of rows, in their order. */
  toMessages(
    rows: readonly Pick<Tables[C], K>[],
    reader: Reader,
  ): readonly MessageShape<M>[] | Promise<readonly MessageShape<M>[]>
  /** What lists can be sorted by besides the uid, the name and the times. */
  readonly sortFields?: SortFields
  /** By default `uid`. */
  readonly defaultOrder?: string
  /** Conditions of a list request. By default the name, if the request has one. */
  readonly filter?: (request: R) => Pick<ListSpec<C>, 'equals' | 'conditions' | 'publicRoots'>
  /** Throws if the resource of this uid can be neither updated nor deleted by the API. */
  readonly requireChangeable?: (uid: string) => void
  /** Locks what a resource is created in. Throws code 5 if it does not exist. */
  readonly lockParent?: (db: Db, tx: Tx, uid: string) => Promise<unknown>
  /** Present if Create or Update are the standard ones. */
  readonly write?: WriteDeclaration<C, M>
  /** Deletes what belongs to the resource, or throws if something still uses it. The row is locked. */
  readonly beforeDelete?: (tx: Tx, row: Tables[C], call: Call) => Promise<void> | void
}

/** What the change of one resource by hand needs: a method beyond the standard ones. */
export function definitionOf<C extends ResourceTable, M extends DescMessage>({
  table,
  schema,
  toMessages,
}: Pick<ResourceDeclaration<C, M, never>, 'table' | 'schema' | 'toMessages'>): ResourceDefinition<C, M> {
  return {
    table,
    schema,
    type: resourceType(schema),
    toMessage: async (row, tx) => (await toMessages([row], tx))[0] as MessageShape<M>,
  }
}

/**
 * Returns the handlers of the standard methods that a service has for a resource: List, Get and Delete, and Create and Update if the
 * declaration has `write`. A service may replace any of them.
 */
export function resourceMethods<
  S extends DescService,
  C extends ResourceTable,
  M extends DescMessage,
  R,
  K extends keyof Tables[C] & string,
>(store: Store, service: S, resource: ResourceDeclaration<C, M, R, K>): Handlers<S> {
  const { table, schema, write, isCached } = resource
  const definition = definitionOf(resource)
  const handlers: Record<string, Handler> = {}
  const add = (kind: StandardMethod, handler: Handler) => {
    const method = methodOf(service, schema, kind)
    if (method !== undefined) handlers[method.localName] = handler
  }
  add('list', listHandler(store, service, resource))
  add('get', async (_request, call) => {
    const { scope } = requireScope(call)
    const read = () =>
      whenReady(readResource(store.db, table, scope), (row) => {
        if (row === undefined) throw notFound(definition.type, scope)
        return whenReady(resource.toMessages([row], store.db.kysely), ([message]) => ({
          message: message as Message,
          rows: 1,
        }))
      })
    const { message } = await (isCached ? cachedMessage(store.db, `${table} ${scope}`, read) : read())
    return message
  })
  if (write !== undefined) {
    add('create', withWarnings(write, createHandler(store, resource, definition, write)))
    add('update', withWarnings(write, updateHandler(store, resource, definition, write)))
  }
  add('delete', async (_request, call) => {
    const { scope } = requireScope(call)
    resource.requireChangeable?.(scope)
    return mutate(store, call, async (tx) => {
      const { row } = await lockForChange(store.db, tx, call, definition, scope)
      await resource.beforeDelete?.(tx, row, call)
      await deleteResource(store.db, tx, resource.table, scope)
      return { uid: scope, response: create(EmptySchema) }
    })
  })
  return handlers as unknown as Handlers<S>
}

function withWarnings<C extends ResourceTable, M extends DescMessage>(
  { warnings }: WriteDeclaration<C, M>,
  handler: Handler,
): Handler {
  if (warnings === undefined) return handler
  return async (request, call) => {
    const message = await handler(request, call)
    addWarnings(call, warnings(message as MessageShape<M>))
    return message
  }
}

function listHandler<C extends ResourceTable, M extends DescMessage, R, K extends keyof Tables[C] & string>(
  store: Store,
  service: DescService,
  resource: ResourceDeclaration<C, M, R, K>,
): Handler {
  const {
    table,
    schema,
    columns,
    isCached,
    toMessages,
    sortFields,
    defaultOrder = 'uid',
    filter,
    wide,
  } = resource
  const method = methodOf(service, schema, 'list')
  if (method === undefined) throw new Error(`${service.typeName} does not list ${schema.name}`)
  const $typeName = method.output.typeName
  const list = fieldOf(method.output, schema)?.localName ?? ''
  const fields = sortFieldsOf(schema, sortFields)
  const unread = Object.values(fields).find((column) => columns?.includes(column as K) === false)
  if (unread !== undefined) throw new Error(`lists of ${table} are sorted by ${unread}, which is not read`)
  const hasName = method.input.fields.some(({ name }) => name === 'name')
  const byName = (request: unknown) => ({ equals: { name: (request as { name: string }).name } })
  const conditionsOf = filter ?? (hasName ? byName : () => ({}))
  return async (request, call) => {
    const listed = request as unknown as ListRequest
    const spec = {
      table,
      columns,
      sortFields: fields,
      defaultOrder,
      ...(wide && { wide }),
      ...conditionsOf(request as R),
    }
    const read = async () => {
      const { rows, ...page } = await listPage(store, call, listed, spec)
      const message: Message = { $typeName, [list]: await toMessages(rows, store.db.kysely), ...page }
      return { message, rows: rows.length }
    }
    const key = isCached ? listKey(store, call, listed, spec) : undefined
    const { message } = await (key === undefined ? read() : cachedMessage(store.db, key, read))
    return message
  }
}

/** The resource of a create or update request, which callers may leave out. */
function requestedResource<M extends DescMessage>(call: Call, schema: M, request: object): MessageShape<M> {
  const name = fieldOf(call.method.input, schema)?.localName ?? ''
  return (request as Record<string, MessageShape<M> | undefined>)[name] ?? create(schema)
}

function createHandler<C extends ResourceTable, M extends DescMessage>(
  store: Store,
  { table, schema, lockParent }: Pick<ResourceDeclaration<C, M, never>, 'table' | 'schema' | 'lockParent'>,
  { toMessage }: ResourceDefinition<C, M>,
  { checks, authorize, columns, afterWrite, alreadyExists }: WriteDeclaration<C, M>,
): Handler {
  const { db, clock, uids } = store
  return (request, call) => {
    const parent = requireScope(call).scope as Uid
    const next = requestedResource(call, schema, request)
    return mutate(
      store,
      call,
      async (tx) => {
        await lockParent?.(db, tx, parent)
        const nowMs = clock()
        const change = { tx, call, next, parent, nowMs, existing: undefined }
        requireValid(...checks(change))
        await authorize?.(change)
        const row = {
          root: rootOf(parent),
          uid: uids.child(parent),
          parent,
          ...columns(change),
          created_ms: nowMs,
          updated_ms: nowMs,
        } as unknown as Tables[C]
        await insertResource(db, tx, table, row)
        await afterWrite?.(change)
        return { uid: row.uid, response: await toMessage(row, tx) }
      },
      alreadyExists && (() => alreadyExists(call, parent, next)),
    )
  }
}

function updateHandler<C extends ResourceTable, M extends DescMessage>(
  store: Store,
  {
    table,
    schema,
    requireChangeable,
  }: Pick<ResourceDeclaration<C, M, never>, 'table' | 'schema' | 'requireChangeable'>,
  definition: ResourceDefinition<C, M>,
  { checks, authorize, columns, afterWrite, alreadyExists }: WriteDeclaration<C, M>,
): Handler {
  const { db, clock } = store
  return (request, call) => {
    const { scope } = requireScope(call)
    requireChangeable?.(scope)
    const patch = requestedResource(call, schema, request)
    const { updateMask } = request as unknown as { readonly updateMask?: FieldMask }
    let next = patch
    return mutate(
      store,
      call,
      async (tx) => {
        const { row, current } = await lockForChange(db, tx, call, definition, scope)
        next = applyUpdate(schema, current, patch, updateMask?.paths)
        if (equals(schema, current, next)) return { uid: scope, response: current, unchanged: true }
        const existing = { row, current }
        const change = { tx, call, next, parent: row.parent as Uid, nowMs: clock(), existing }
        requireValid(...checks(change))
        await authorize?.(change)
        const changed = { ...columns(change), updated_ms: nextUpdateMs(store, row) }
        await updateResource(tx, table, scope, changed as Partial<Tables[C]>)
        await afterWrite?.(change)
        return { uid: scope, response: await definition.toMessage({ ...row, ...changed }, tx) }
      },
      alreadyExists && (() => alreadyExists(call, parentOf(scope), next)),
    )
  }
}
