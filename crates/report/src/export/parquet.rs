//! The long form as Apache Parquet: the columns of the CSV table, each with its type.
//!
//! One row group, dictionaries for words, no compression. What is an empty field in CSV is a null
//! here.

use super::PARQUET_MARK;
use crate::long_form::{Row, rows};
use parquet::{
    basic::{LogicalType, Repetition, Type as Physical},
    data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type},
    errors::Result,
    file::{
        metadata::KeyValue,
        properties::WriterProperties,
        writer::{SerializedFileWriter, SerializedRowGroupWriter},
    },
    schema::types::{Type, TypePtr},
};
use record::Record;
use std::sync::Arc;

/// What stands in one column.
enum Column {
    Words(Vec<Option<String>>),
    Counts(Vec<Option<i64>>),
    Passes(Vec<Option<i32>>),
    Numbers(Vec<Option<f64>>),
}

/// The file.
pub(super) fn file(records: &[&Record]) -> Vec<u8> {
    written(&columns(&rows(records))).expect("bytes in memory take all that is written")
}

/// The columns of the CSV table, in its order.
fn columns(rows: &[Row<'_>]) -> Vec<(&'static str, Column)> {
    let words = |of: &dyn Fn(&Row<'_>) -> String| {
        let or_null = |text: String| (!text.is_empty()).then_some(text);
        Column::Words(rows.iter().map(|row| or_null(of(row))).collect())
    };
    let name = |at: usize| words(&|row| row.of.names[at].to_owned());
    let count = |of: &dyn Fn(&Row<'_>) -> Option<u64>| {
        let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        Column::Counts(rows.iter().map(|row| of(row).map(signed)).collect())
    };
    let number =
        |of: &dyn Fn(&Row<'_>) -> Option<f64>| Column::Numbers(rows.iter().map(of).collect());
    let pass = |row: &Row<'_>| row.pass.map(|pass| i32::try_from(pass).unwrap_or(i32::MAX));
    vec![
        ("run", name(0)),
        ("method", name(1)),
        ("target", name(2)),
        ("cell", name(3)),
        ("op", name(4)),
        ("pattern", name(5)),
        ("block_bytes", count(&|row| Some(row.of.numbers[0]))),
        ("threads", count(&|row| Some(row.of.numbers[1]))),
        ("queue_depth", count(&|row| Some(row.of.numbers[2]))),
        ("engine", words(&|row| row.of.ways[0].to_owned())),
        ("io", words(&|row| row.of.ways[1].to_owned())),
        ("coordinates", words(&|row| row.of.coordinates.clone())),
        ("pass", Column::Passes(rows.iter().map(pass).collect())),
        ("metric", words(&|row| row.metric.clone())),
        ("value", number(&|row| Some(row.value))),
        ("unit", words(&|row| row.unit.to_owned())),
        ("ci95_low", number(&|row| row.ci95.map(|[low, _]| low))),
        ("ci95_high", number(&|row| row.ci95.map(|[_, high]| high))),
        ("n", count(&|row| row.n)),
        ("flags", words(&|row| row.of.flags.clone())),
    ]
}

fn written(columns: &[(&'static str, Column)]) -> Result<Vec<u8>> {
    let fields = columns.iter().map(|(name, column)| column.field(name)).collect::<Result<_>>()?;
    let schema = Type::group_type_builder("drivelab").with_fields(fields).build()?;
    let mark = KeyValue::new("drivelab".to_owned(), PARQUET_MARK.to_owned());
    let properties = WriterProperties::builder()
        .set_created_by(format!("drivelab {}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata(Some(vec![mark]))
        .build();
    let mut bytes = Vec::new();
    let mut file = SerializedFileWriter::new(&mut bytes, Arc::new(schema), Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    for (_, column) in columns {
        column.write(&mut group)?;
    }
    group.close()?;
    file.close()?;
    Ok(bytes)
}

impl Column {
    fn field(&self, name: &str) -> Result<TypePtr> {
        let (physical, logical) = match self {
            Self::Words(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Self::Counts(_) => (Physical::INT64, None),
            Self::Passes(_) => (Physical::INT32, None),
            Self::Numbers(_) => (Physical::DOUBLE, None),
        };
        let field = Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical);
        Ok(Arc::new(field.build()?))
    }

    fn write(&self, group: &mut SerializedRowGroupWriter<'_, &mut Vec<u8>>) -> Result<()> {
        let mut writer = group.next_column()?.expect("as many columns as fields");
        match self {
            Self::Words(words) => {
                let (words, levels) = dense(words);
                let words: Vec<ByteArray> =
                    words.iter().map(|word| word.as_bytes().to_vec().into()).collect();
                writer.typed::<ByteArrayType>().write_batch(&words, Some(&levels), None)?;
            }
            Self::Counts(counts) => {
                let (counts, levels) = dense(counts);
                writer.typed::<Int64Type>().write_batch(&counts, Some(&levels), None)?;
            }
            Self::Passes(passes) => {
                let (passes, levels) = dense(passes);
                writer.typed::<Int32Type>().write_batch(&passes, Some(&levels), None)?;
            }
            Self::Numbers(numbers) => {
                let (numbers, levels) = dense(numbers);
                writer.typed::<DoubleType>().write_batch(&numbers, Some(&levels), None)?;
            }
        }
        writer.close()
    }
}

/// The values that are there, and for each row whether it has one: its definition level.
fn dense<T: Clone>(values: &[Option<T>]) -> (Vec<T>, Vec<i16>) {
    let levels = values.iter().map(|value| i16::from(value.is_some())).collect();
    (values.iter().flatten().cloned().collect(), levels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{export::tests::example, long_form};
    use parquet::{
        file::{reader::FileReader, serialized_reader::SerializedFileReader},
        record::Field,
    };

    /// As CSV has it: nothing for a null.
    fn text(field: &Field) -> String {
        match field {
            Field::Null => String::new(),
            Field::Str(text) => text.clone(),
            Field::Double(number) => number.to_string(),
            other => other.to_string(),
        }
    }

    #[test]
    fn each_row_holds_what_its_line_of_csv_holds() {
        let record = example();
        let bytes = bytes::Bytes::from(file(&[&record, &record]));
        let reader = SerializedFileReader::new(bytes).expect("a Parquet file");
        let schema = reader.metadata().file_metadata().schema_descr();
        let names: Vec<String> =
            (0..schema.num_columns()).map(|at| schema.column(at).name().to_owned()).collect();
        assert_eq!(names.join(","), long_form::HEAD);
        let csv = long_form::csv(&[&record, &record]);
        let lines = csv.lines().skip(1);
        let rows = reader.get_row_iter(None).expect("rows");
        let mut count = 0;
        for (row, line) in rows.zip(lines.clone()) {
            let row = row.expect("a row");
            let fields: Vec<String> = row.get_column_iter().map(|(_, field)| text(field)).collect();
            assert_eq!(fields.join(","), line);
            count += 1;
        }
        assert_eq!(count, lines.count());
    }

    #[test]
    fn a_table_without_rows_is_a_file_all_the_same() {
        let reader = SerializedFileReader::new(bytes::Bytes::from(file(&[]))).expect("a file");
        assert_eq!(reader.metadata().file_metadata().num_rows(), 0);
    }
}
