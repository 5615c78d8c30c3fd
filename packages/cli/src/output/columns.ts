import type { ResourceNames } from '../invocation/resource-names.ts'
import { parentUid } from '../invocation/resource-uids.ts'
import type { Column } from './output.ts'

/** Columns that most tables share. Tables show names; uids are in `wide` tables, CSV and details. */

export const idColumn: Column<{ readonly uid: string }> = {
  title: 'ID',
  kind: 'uid',
  value: ({ uid }) => uid,
  wide: true,
}
export const nameColumn: Column<{ readonly name: string }> = {
  title: 'NAME',
  kind: 'name',
  value: ({ name }) => name,
}
export const descriptionColumn: Column<{ readonly description: string }> = {
  title: 'DESCRIPTION',
  value: ({ description }) => description,
}
export const createdColumn: Column<{ readonly createTime?: string }> = {
  title: 'CREATED',
  kind: 'time',
  value: ({ createTime = '' }) => createTime,
  wide: true,
}

/** The path of a resource from its organization: `my-org/team/nginx`. */
export function pathColumn(
  names: Pick<ResourceNames, 'path'>,
  title = 'NAME',
): Column<{ readonly uid: string; readonly name: string }> {
  return { title, kind: 'path', value: (resource) => names.path(resource) }
}

/** The path of the group that contains a resource. */
export function groupColumn(
  names: Pick<ResourceNames, 'groupPath'>,
  title = 'GROUP',
): Column<{ readonly uid: string }> {
  return {
    title,
    kind: 'path',
    value: ({ uid }) => (parentUid(uid) === '' ? '' : names.groupPath(parentUid(uid))),
  }
}

/** Loads the paths of the groups that contain the resources. */
export function loadGroups(names: Pick<ResourceNames, 'load'>) {
  return (items: readonly { readonly uid: string }[]) =>
    names.load({ groups: items.map(({ uid }) => parentUid(uid)) })
}
