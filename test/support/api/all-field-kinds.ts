import { create, createFileRegistry, type DescMessage } from '@bufbuild/protobuf'
import {
  type DescriptorProto,
  DescriptorProtoSchema,
  type FieldDescriptorProto,
  FieldDescriptorProtoSchema,
  FileDescriptorProtoSchema,
  file_google_protobuf_duration,
  file_google_protobuf_field_mask,
  file_google_protobuf_timestamp,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
} from '@bufbuild/protobuf/wkt'

/** One field; `type` is a scalar, or the full name of a message or enum. */
function field(
  number: number,
  name: string,
  type: Type | string,
  more: { repeated?: true; optional?: number; oneof?: number; jsonName?: string } = {},
): FieldDescriptorProto {
  const jsonName = more.jsonName ?? name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
  return create(FieldDescriptorProtoSchema, {
    number,
    name,
    jsonName,
    label: more.repeated ? Label.REPEATED : Label.OPTIONAL,
    ...(typeof type === 'string'
      ? { typeName: type, type: type === '.test.Color' ? Type.ENUM : Type.MESSAGE }
      : { type }),
    ...(more.optional === undefined ? {} : { proto3Optional: true, oneofIndex: more.optional }),
    ...(more.oneof === undefined ? {} : { oneofIndex: more.oneof }),
  })
}

function mapEntry(name: string, key: Type, value: Type | string): DescriptorProto {
  return create(DescriptorProtoSchema, {
    name,
    field: [field(1, 'key', key), field(2, 'value', value)],
    options: { mapEntry: true },
  })
}

const file = create(FileDescriptorProtoSchema, {
  name: 'test/all_kinds.proto',
  package: 'test',
  syntax: 'proto3',
  dependency: [
    'google/protobuf/timestamp.proto',
    'google/protobuf/duration.proto',
    'google/protobuf/field_mask.proto',
  ],
  enumType: [
    {
      name: 'Color',
      value: [
        { name: 'COLOR_UNSPECIFIED', number: 0 },
        { name: 'RED', number: 1 },
        { name: 'BELOW', number: -1 },
      ],
    },
  ],
  messageType: [
    { name: 'Inner', field: [field(1, 'name', Type.STRING), field(2, 'sub_name', Type.STRING)] },
    {
      name: 'OnlyOptional',
      field: [
        field(1, 'first_one', Type.STRING, { optional: 0 }),
        field(2, 'second', Type.INT32, { optional: 1 }),
        field(3, 'third', Type.STRING),
      ],
      oneofDecl: [{ name: '_first_one' }, { name: '_second' }],
    },
    {
      name: 'AllKinds',
      nestedType: [
        mapEntry('LabelsEntry', Type.STRING, Type.STRING),
        mapEntry('ByNumberEntry', Type.INT64, '.test.Inner'),
        mapEntry('ByFlagEntry', Type.BOOL, Type.INT64),
        mapEntry('ByColorEntry', Type.UINT32, '.test.Color'),
      ],
      oneofDecl: [
        { name: 'choice' },
        { name: '_nick_name' },
        { name: '_maybe_count' },
        { name: '_maybe_color' },
      ],
      field: [
        field(1, 'text', Type.STRING),
        field(2, 'flag', Type.BOOL),
        field(3, 'small', Type.INT32),
        field(4, 'unsigned_small', Type.UINT32),
        field(5, 'large', Type.INT64),
        field(6, 'unsigned_large', Type.UINT64),
        field(7, 'ratio', Type.DOUBLE),
        field(8, 'single', Type.FLOAT),
        field(9, 'blob', Type.BYTES),
        field(10, 'color', '.test.Color'),
        field(11, 'tag_list', Type.STRING, { repeated: true }),
        field(12, 'colors', '.test.Color', { repeated: true }),
        field(13, 'numbers', Type.INT64, { repeated: true }),
        field(14, 'labels', '.test.AllKinds.LabelsEntry', { repeated: true }),
        field(15, 'by_number', '.test.AllKinds.ByNumberEntry', { repeated: true }),
        field(16, 'by_flag', '.test.AllKinds.ByFlagEntry', { repeated: true }),
        field(17, 'by_color', '.test.AllKinds.ByColorEntry', { repeated: true }),
        field(18, 'inner', '.test.Inner'),
        field(19, 'inner_list', '.test.Inner', { repeated: true }),
        field(20, 'as_text', Type.STRING, { oneof: 0 }),
        field(21, 'as_inner', '.test.Inner', { oneof: 0 }),
        field(22, 'as_color', '.test.Color', { oneof: 0 }),
        field(23, 'nick_name', Type.STRING, { optional: 1 }),
        field(24, 'maybe_count', Type.INT32, { optional: 2 }),
        field(25, 'maybe_color', '.test.Color', { optional: 3 }),
        field(26, 'at_time', '.google.protobuf.Timestamp'),
        field(27, 'wait_time', '.google.protobuf.Duration'),
        field(28, 'the_mask', '.google.protobuf.FieldMask'),
        field(29, 'self', '.test.AllKinds'),
        field(30, 'kept_name', Type.STRING, { jsonName: 'kept_name' }),
        field(31, 'only_optional', '.test.OnlyOptional'),
      ],
    },
  ],
})

const registry = createFileRegistry(file, (name) =>
  [file_google_protobuf_timestamp, file_google_protobuf_duration, file_google_protobuf_field_mask]
    .map(({ proto }) => proto)
    .find((proto) => proto.name === name),
)

/** A message with every kind of field that the codecs know. */
export const allFieldKinds: DescMessage = registry.getMessage('test.AllKinds')!
export const onlyOptionalFields: DescMessage = registry.getMessage('test.OnlyOptional')!
